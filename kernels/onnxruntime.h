// What we use of ONNX Runtime's C API, and what operators share.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "stored.h"
#include "threads.h"

// The indices of functions in the OrtApi struct, and the beginning of the OrtCustomOp struct. Both only grow at their ends.
typedef const void *const *Api;
enum {
  CREATE_STATUS = 0,
  CREATE_DOMAIN = 26,
  ADD_OPERATOR = 27,
  ADD_DOMAIN = 28,
  GET_DATA = 51,
  GET_RANK = 61,
  GET_SIZES = 62,
  GET_SHAPE = 65,
  GET_FLOAT = 85,
  GET_INTEGER = 86,
  COUNT_INPUTS = 88,
  COUNT_OUTPUTS = 89,
  GET_INPUT = 90,
  GET_OUTPUT = 91,
  RELEASE_SHAPE = 99,
  GET_INTEGERS = 163,
  COUNT_NODE_INPUTS = 230,
  COUNT_NODE_OUTPUTS = 231,
  GET_CONSTANT = 249,
  PARALLEL_FOR = 274,
};
#define CALL(index, ...) ((void *(*)())api[index])(__VA_ARGS__)
enum { FAIL = 1, INVALID_ARGUMENT = 2 };
static Api api;

/** Our fields come after those that ONNX Runtime reads. */
typedef struct Operator {
  uint32_t version;
  void *create_without_status;
  const char *(*name)(const struct Operator *);
  const char *(*provider)(const struct Operator *);
  int (*input_type)(const struct Operator *, size_t);
  size_t (*inputs)(const struct Operator *);
  int (*output_type)(const struct Operator *, size_t);
  size_t (*outputs)(const struct Operator *);
  void *compute_without_status;
  void (*destroy)(void *kernel);
  int (*input_kind)(const struct Operator *, size_t);
  int (*output_kind)(const struct Operator *, size_t);
  int (*input_memory)(const struct Operator *, size_t);
  int (*variadic[4])(const struct Operator *);
  void *(*create)(const struct Operator *, Api, const void *info, void **kernel);
  void *(*compute)(void *kernel, void *context);

  const char *called;
  size_t all_inputs, all_outputs, optional_inputs, optional_outputs; // the optional ones come last
  unsigned integers; // a bit for each input that has int64 numbers,
  unsigned stored;   // for each matrix that may have bytes instead,
  unsigned halves, half_outputs; // and for each input and output that has float16 numbers; all others have float32 numbers
} Operator;

static const char *operator_name(const Operator *operator) { return operator->called; }
static const char *operator_provider(const Operator *operator) { return "CPUExecutionProvider"; }
enum { ANY = 0, FLOATS = 1, INTEGERS = 7, HALVES = 10 }; // types of elements
static int operator_input_type(const Operator *operator, size_t index) {
  const unsigned bit = 1u << index;
  return operator->integers & bit ? INTEGERS : operator->stored & bit ? ANY : operator->halves & bit ? HALVES : FLOATS;
}
static size_t operator_inputs(const Operator *operator) { return operator->all_inputs; }
static int operator_output_type(const Operator *operator, size_t index) { return operator->half_outputs >> index & 1 ? HALVES : FLOATS; }
static size_t operator_outputs(const Operator *operator) { return operator->all_outputs; }
static int operator_input_kind(const Operator *operator, size_t index) { return index + operator->optional_inputs >= operator->all_inputs; }
static int operator_output_kind(const Operator *operator, size_t index) { return index + operator->optional_outputs >= operator->all_outputs; }
/** Of an operator with any number of inputs or outputs: at least one, all of one type. */
static int operator_variadic_kind(const Operator *operator, size_t index) { return 2; }
static int operator_least_variadic(const Operator *operator) { return 1; }
static int operator_input_memory(const Operator *operator, size_t index) { return 0; }

/** The fields of an Operator that are the same for all; the version is the first with statuses. */
#define COMMON_FIELDS \
  .version = 16, .name = operator_name, .provider = operator_provider, .input_type = operator_input_type, .inputs = operator_inputs, \
  .output_type = operator_output_type, .outputs = operator_outputs, .input_kind = operator_input_kind, \
  .output_kind = operator_output_kind, .input_memory = operator_input_memory

static void *out_of_memory(void) { return CALL(CREATE_STATUS, FAIL, "gradus: out of memory"); }

static void *in_parallel(void *context, void (*task)(void *data, size_t index), long count, void *data) {
  if (count > 1) return CALL(PARALLEL_FOR, context, task, (size_t)count, (size_t)0, data);
  task(data, 0);
  return 0;
}

/** The sizes of an array with `least` to `most` axes, and how many these are. */
static void *read_shape(const void *value, size_t least, size_t most, int64_t *sizes, size_t *axes) {
  void *shape, *status = CALL(GET_SHAPE, value, &shape);
  if (status) return status;
  status = CALL(GET_RANK, shape, axes);
  if (!status && (*axes < least || *axes > most))
    status = CALL(CREATE_STATUS, INVALID_ARGUMENT, "gradus: an operand has another number of axes");
  if (!status) status = CALL(GET_SIZES, shape, sizes, *axes);
  CALL(RELEASE_SHAPE, shape);
  return status;
}

/** A pointer to the data of an array with so many axes, and its sizes. */
static void *read_array(const void *value, void *data, int64_t *sizes, size_t axes) {
  void *status = CALL(GET_DATA, value, data);
  return status ? status : read_shape(value, axes, axes, sizes, &axes);
}

/** The same of an input. One that is left out has no data. */
static void *read_input(const void *context, size_t index, void *data, int64_t *sizes, size_t axes) {
  const void *value;
  size_t inputs;
  *(void **)data = 0;
  void *status = CALL(COUNT_INPUTS, context, &inputs);
  if (status || index >= inputs) return status;
  status = CALL(GET_INPUT, context, index, &value);
  return status || !value ? status : read_array(value, data, sizes, axes);
}

/** A matrix in this format, an attribute of its node. Bytes have a row for each of its rows, if that is made of whole blocks. */
static void *read_matrix(const void *value, int64_t format, Matrix *matrix, int64_t sizes[2]) {
  void *status = read_array(value, &matrix->numbers, sizes, 2);
  if (status) return status;
  if (format < 0 || format >= FORMATS) return CALL(CREATE_STATUS, INVALID_ARGUMENT, "gradus: a matrix has an unknown format");
  if (format != FLOAT32) sizes[1] = sizes[1] / units[format].bytes * units[format].blocks * STORED_BLOCK;
  matrix->format = (Format)format;
  matrix->stride = sizes[1];
  matrix->block = 0;
  return 0;
}

static void *read_matrix_input(const void *context, size_t index, int64_t format, Matrix *matrix, int64_t sizes[2]) {
  const void *value;
  void *status = CALL(GET_INPUT, context, index, &value);
  return status ? status : read_matrix(value, format, matrix, sizes);
}

/** Whether something reads the result with this index, an optional one. */
static int has_output(const void *context, size_t index) {
  size_t outputs = 0;
  return !CALL(COUNT_OUTPUTS, context, &outputs) && index < outputs;
}

/** The memory for a result. */
static void *make_output(void *context, size_t index, const int64_t *sizes, size_t axes, float **data) {
  void *value, *status = CALL(GET_OUTPUT, context, index, sizes, axes, &value);
  return status ? status : CALL(GET_DATA, value, data);
}
