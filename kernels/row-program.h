// RowProgram, an operator for ONNX Runtime that computes element-wise functions and sums over the last axis in one pass over memory.
//
// Its program is run for each row of the operands, with registers that stay in the processor's first cache. A register is either narrow,
// one number for the row, or wide, a number for each column. An instruction is four numbers: an operation, the register of its result and
// those of its operands. Instructions on narrow registers are computed once for each row. LOOP has the number of those on wide registers
// that follow it, which are computed together for a block of columns, and then for the next one. So wide registers last only until the end
// of their loop, where sums over the columns are complete. tensor/row-program.ts writes programs.
//
// Registers are numbered: first the inputs, then the outputs, other narrow ones, and other wide ones. A row is computed by a single thread,
// in the same order however many threads there are.
//
// In the order in which they build on each other: vectors.h (functions), row-instructions.h (computes programs), and here the operator that
// ONNX Runtime calls.

#pragma once

#include <stdlib.h>
#include <string.h>
#include "onnxruntime.h"
#include "row-instructions.h"

static void destroy_program(void *data) {
  ProgramNode *node = data;
  free(node->kinds);
  free(node->program);
  free(node);
}

/** The integers of an attribute, in new memory. */
static OrtStatus *read_integers(const OrtKernelInfo *info, const char *name, int64_t **integers, size_t *count) {
  *count = 0;
  OrtStatus *status = api->KernelInfoGetAttributeArray_int64(info, name, 0, count);
  if (status) return status;
  *integers = malloc((*count + 1) * sizeof(int64_t));
  return *integers ? api->KernelInfoGetAttributeArray_int64(info, name, *integers, count) : out_of_memory();
}

static OrtStatus *read_program(ProgramNode *node, const OrtKernelInfo *info) {
  int64_t *numbers = 0;
  size_t count;
  OrtStatus *status = read_integers(info, "program", &numbers, &count);
  node->instructions = count / 4;
  node->program = malloc((node->instructions + 1) * sizeof(Instruction));
  if (!status && !node->program) status = out_of_memory();
  for (size_t i = 0; i < node->instructions && !status; i++) {
    const int64_t *at = numbers + 4 * i;
    node->program[i] = (Instruction){(int)at[0], (int32_t)at[1], (int32_t)at[2], (int32_t)at[3]};
    const size_t limit = at[0] == LOOP ? node->instructions - i : at[0] == CONSTANT ? (size_t)1 << 32 : node->registers;
    const int named = (size_t)at[1] < node->registers && (size_t)at[2] < limit && (size_t)at[3] < node->registers;
    if (!named || (size_t)at[0] >= OPERATIONS) status = invalid_argument("RowProgram: an instruction has no meaning");
  }
  free(numbers);
  return status;
}

static OrtStatus *create_program(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  ProgramNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  size_t kinds = 0;
  OrtStatus *status = api->KernelInfo_GetInputCount(info, &node->inputs);
  if (!status) status = api->KernelInfo_GetOutputCount(info, &node->outputs);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "width", &node->width);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "narrow", &node->narrow);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "wide", &node->wide);
  if (!status) status = read_integers(info, "kinds", &node->kinds, &kinds);
  node->registers = node->inputs + node->outputs + node->narrow + node->wide;
  if (!status) status = read_program(node, info);
  if (!status && kinds != node->inputs + node->outputs) status = invalid_argument("RowProgram: inputs or outputs have no kinds");
  if (status) destroy_program(node);
  else *created = node;
  return status;
}

enum { MOST_AXES = 8 };

/** Reads input `index`, and the shape of the rows from those that have rows: `axes` without the last one. */
static OrtStatus *read_operand(Execution *run, OrtKernelContext *context, size_t index, int64_t axes[MOST_AXES], size_t *rank) {
  const ProgramNode *node = run->node;
  const Kind kind = node->kinds[index];
  const OrtValue *value;
  int64_t sizes[MOST_AXES], rows = 1;
  size_t own;
  OrtStatus *status = api->KernelContext_GetInput(context, index, &value);
  if (!status) status = read_data(value, &run->memory[index]);
  if (!status) status = read_shape(value, 0, MOST_AXES, sizes, &own);
  if (status) return status;
  const int has_rows = kind == WIDE_VALUES || kind == OF_ROWS;
  const int64_t columns = own == 0 ? 1 : sizes[own - 1], expected = kind == WIDE_VALUES || kind == OF_COLUMNS ? node->width : 1;
  for (size_t i = 0; i + 1 < own; i++) rows *= sizes[i];
  int fits = columns == expected && (has_rows ? own > 0 && (run->rows < 0 || rows == run->rows) : rows == 1);
  if (!fits) return invalid_argument("RowProgram: the sizes of the operands do not fit");
  if (has_rows) {
    memcpy(axes, sizes, sizeof sizes);
    *rank = own;
    run->rows = rows;
  }
  return 0;
}

static OrtStatus *run_program(void *data, OrtKernelContext *context) {
  const ProgramNode *node = data;
  float *memory[node->inputs + node->outputs];
  Execution run = {.node = node, .memory = memory, .rows = -1};
  int64_t axes[MOST_AXES];
  size_t rank = 0;
  OrtStatus *status = 0;
  OrtValue *value;
  for (size_t i = 0; i < node->inputs && !status; i++) status = read_operand(&run, context, i, axes, &rank);
  if (!status && rank == 0) status = invalid_argument("RowProgram: no operand has rows");
  for (size_t i = 0; i < node->outputs && !status; i++) {
    const size_t index = node->inputs + i;
    axes[rank - 1] = node->kinds[index] == WIDE_VALUES ? node->width : 1;
    status = api->KernelContext_GetOutput(context, i, axes, rank, &value);
    if (!status) status = read_data(value, &memory[index]);
  }
  return status || run.rows == 0 ? status : compute_rows(&run, context);
}

static const Operator row_program = {
    COMMON_FIELDS,
    .input_kind = operator_variadic_kind,
    .output_kind = operator_variadic_kind,
    .variadic = {operator_least_variadic, operator_least_variadic, operator_least_variadic, operator_least_variadic},
    .called = "RowProgram",
    .all_inputs = 1,
    .all_outputs = 1,
    .create = create_program,
    .compute = run_program,
    .destroy = destroy_program,
};
