// Computes programs of row-program.h.
#pragma once

#include <stdint.h>
#include <stddef.h>
#include "threads.h"
#include "vectors.h"

typedef struct {
  enum {
    LOOP,
    CONSTANT, // the operand of a constant is its bits
    COPY,
    NEGATIVE,
    EXP,
    LOG,
    SQRT,
    RECIPROCAL,
    SIGMOID,
    TANH,
    ABSOLUTE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    MAXIMUM,
    MINIMUM,
    SUM,
    LARGEST, // of all columns: from a wide register to a narrow one
    OPERATIONS
  } operation;
  int32_t result, left, right;
} Instruction;

/** The layout of an input or an output: a number for each row and column, for each column, for each row, or a single one. */
typedef enum { WIDE_VALUES, OF_COLUMNS, OF_ROWS, SINGLE } Kind;

enum {
  LANES = 16,
  LOOP_NUMBERS = 8192, // in all wide registers together: two thirds of the first cache
  LONGEST_BLOCK = 1024,
  TASK_NUMBERS = 16384, // of a wide operand in a task, at least
  MOST_TASKS = 16,
};

typedef struct {
  int64_t width, narrow, wide; // columns; registers besides inputs and outputs
  size_t inputs, outputs, registers, instructions;
  int64_t *kinds; // of inputs, then of outputs
  Instruction *program;
} ProgramNode;

/** Where a register is. A narrow one, whose step is 0, has its number LANES times. */
typedef struct {
  float *data;
  int whole; // whether it has all columns of the row, or only those of the block
  int step;
} Register;

/** A run of a program. */
typedef struct {
  const ProgramNode *node;
  float **memory; // of inputs, then of outputs
  int64_t rows, rows_of_task, block;
} Execution;

#define UNARY(function) \
  { \
    int64_t i = 0; \
    for (; i + LANES <= count; i += LANES) store(result + i, function(load(left + i * left_step))); \
    if (i < count) store_first(count - i, result + i, function(load_first(count - i, left + i * left_step))); \
    break; \
  }
#define BINARY(function) \
  { \
    int64_t i = 0; \
    for (; i + LANES <= count; i += LANES) store(result + i, function(load(left + i * left_step), load(right + i * right_step))); \
    if (i < count) \
      store_first(count - i, result + i, function(load_first(count - i, left + i * left_step), load_first(count - i, right + i * right_step))); \
    break; \
  }

static inline Vector copied(Vector x) { return x; }
static inline Vector inverse(Vector x) { return divide(broadcast(1), x); }

/** Adds to the sums in `result`, four at a time, so that additions do not wait for each other. */
static void add_columns(float *result, const float *from, int64_t count) {
  Vector a = broadcast(0), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * LANES <= count; i += 4 * LANES) {
    a = add(a, load(from + i));
    b = add(b, load(from + i + LANES));
    c = add(c, load(from + i + 2 * LANES));
    d = add(d, load(from + i + 3 * LANES));
  }
  for (; i + LANES <= count; i += LANES) a = add(a, load(from + i));
  if (i < count) b = add(b, load_first(count - i, from + i));
  store(result, add(load(result), add(add(a, b), add(c, d))));
}

static void find_largest(float *result, const float *from, int64_t count) {
  Vector most = load(result);
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) most = max_or_nan(most, load(from + i));
  if (i < count) most = blend(tail_mask(count - i), max_or_nan(most, load_first(count - i, from + i)), most);
  store(result, most);
}

/** Computes an instruction for `count` columns, whose registers begin at `at`. */
static void compute_instruction(Instruction instruction, const Register *registers, float *const *at, int64_t count) {
  float *result = at[instruction.result];
  if (instruction.operation == CONSTANT) {
    store(result, as_floats(broadcast_ints(instruction.left)));
    return;
  }
  const float *left = at[instruction.left], *right = at[instruction.right];
  const int64_t left_step = registers[instruction.left].step, right_step = registers[instruction.right].step;
  switch (instruction.operation) {
  case COPY: UNARY(copied)
  case NEGATIVE: UNARY(negate)
  case EXP: UNARY(exponential)
  case LOG: UNARY(logarithm)
  case SQRT: UNARY(square_root)
  case RECIPROCAL: UNARY(inverse)
  case SIGMOID: UNARY(sigmoid)
  case TANH: UNARY(hyperbolic_tangent)
  case ABSOLUTE: UNARY(absolute)
  case ADD: BINARY(add)
  case SUBTRACT: BINARY(sub)
  case MULTIPLY: BINARY(mul)
  case DIVIDE: BINARY(divide)
  case MAXIMUM: BINARY(max_or_nan)
  case MINIMUM: BINARY(min_or_nan)
  case SUM: add_columns(result, left, count); break;
  case LARGEST: find_largest(result, left, count); break;
  default: break;
  }
}

static int reduces(Instruction instruction) { return instruction.operation == SUM || instruction.operation == LARGEST; }

static void begin_reduction(Instruction instruction, const Register *registers) {
  store(registers[instruction.result].data, broadcast(instruction.operation == SUM ? 0 : -__builtin_inff()));
}

/** Reduces the lanes of a result to one number. */
static void end_reduction(Instruction instruction, const Register *registers) {
  float *lanes = registers[instruction.result].data, result = lanes[0];
  if (instruction.operation == SUM) result = hsum(load(lanes));
  else
    for (int i = 1; i < LANES && result == result; i++)
      if (!(lanes[i] <= result)) result = lanes[i];
  store(lanes, broadcast(result));
}

static void run_loop(const Instruction *body, int64_t length, const ProgramNode *node, const Register *registers, float **at, int64_t block) {
  for (int64_t i = 0; i < length; i++)
    if (reduces(body[i])) begin_reduction(body[i], registers);
  for (int64_t column = 0; column < node->width; column += block) {
    const int64_t count = node->width - column < block ? node->width - column : block;
    for (size_t i = 0; i < node->registers; i++) at[i] = registers[i].data + (registers[i].whole ? column : 0);
    for (int64_t i = 0; i < length; i++) compute_instruction(body[i], registers, at, count);
  }
  for (int64_t i = 0; i < length; i++)
    if (reduces(body[i])) end_reduction(body[i], registers);
}

static void run_row(const Execution *run, Register *registers, float **at, int64_t row) {
  const ProgramNode *node = run->node;
  for (size_t i = 0; i < node->inputs + node->outputs; i++) {
    if (node->kinds[i] == WIDE_VALUES) registers[i].data = run->memory[i] + row * node->width;
    else if (node->kinds[i] == OF_ROWS && i < node->inputs) store(registers[i].data, broadcast(run->memory[i][row]));
  }
  for (size_t i = 0; i < node->registers; i++) at[i] = registers[i].data;
  for (size_t i = 0; i < node->instructions; i++) {
    const Instruction instruction = node->program[i];
    if (instruction.operation == LOOP) {
      run_loop(node->program + i + 1, instruction.left, node, registers, at, run->block);
      i += instruction.left;
    } else compute_instruction(instruction, registers, at, LANES);
  }
  for (size_t i = node->inputs; i < node->inputs + node->outputs; i++)
    if (node->kinds[i] == OF_ROWS) run->memory[i][row] = registers[i].data[0];
}

/** Gives memory to the registers that have none of their own: LANES numbers to narrow ones, a block to wide ones. */
static void place_registers(const Execution *run, Register *registers, float *memory) {
  const ProgramNode *node = run->node;
  for (size_t i = 0; i < node->registers; i++) {
    const int given = i < node->inputs + node->outputs, wide = given ? node->kinds[i] <= OF_COLUMNS : i >= node->registers - node->wide;
    registers[i] = (Register){memory, given && wide, wide};
    if (given && node->kinds[i] == OF_COLUMNS) registers[i].data = run->memory[i];
    if (given && node->kinds[i] == SINGLE) store(memory, broadcast(*run->memory[i]));
    if (!given || !wide) memory += wide ? run->block : LANES;
  }
}

static void run_rows(void *data, size_t index) {
  const Execution *run = data;
  const ProgramNode *node = run->node;
  float memory[(node->registers - node->wide) * LANES + node->wide * run->block] __attribute__((aligned(64)));
  Register registers[node->registers];
  float *at[node->registers];
  place_registers(run, registers, memory);
  const int64_t first = (int64_t)index * run->rows_of_task, last = first + run->rows_of_task;
  for (int64_t row = first; row < last && row < run->rows; row++) run_row(run, registers, at, row);
}

/** Divides rows into tasks, and columns into blocks of about the same size. */
static OrtStatus *compute_rows(Execution *run, OrtKernelContext *context) {
  const ProgramNode *node = run->node;
  const int64_t width = node->width, fitting = LOOP_NUMBERS / (node->wide + 1) / LANES * LANES;
  const int64_t longest = fitting > LONGEST_BLOCK ? LONGEST_BLOCK : fitting < LANES ? LANES : fitting;
  const int64_t blocks = (width + longest - 1) / longest;
  run->block = ((width + blocks - 1) / blocks + LANES - 1) / LANES * LANES;
  const int64_t worth_it = (TASK_NUMBERS + width - 1) / width, shared = (run->rows + MOST_TASKS - 1) / MOST_TASKS;
  run->rows_of_task = worth_it > shared ? worth_it : shared;
  return in_parallel(context, run_rows, (run->rows + run->rows_of_task - 1) / run->rows_of_task, run);
}
