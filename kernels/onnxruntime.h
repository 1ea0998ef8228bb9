// What we use of ONNX Runtime's C API, and what operators share.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "stored.h"
#include "threads.h"

typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtValue OrtValue;
struct Operator;

/** The functions that we call, under ONNX Runtime's names and at their places in its OrtApi, which only grows at its end. */
typedef struct {
  OrtStatus *(*CreateStatus)(int code, const char *message);
  void *others_1[25];
  OrtStatus *(*CreateCustomOpDomain)(const char *name, OrtCustomOpDomain **domain);
  OrtStatus *(*CustomOpDomain_Add)(OrtCustomOpDomain *domain, const struct Operator *operator);
  OrtStatus *(*AddCustomOpDomain)(OrtSessionOptions *options, OrtCustomOpDomain *domain);
  void *others_29[22];
  OrtStatus *(*GetTensorMutableData)(const OrtValue *value, void **data);
  void *others_52[9];
  OrtStatus *(*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo *shape, size_t *axes);
  OrtStatus *(*GetDimensions)(const OrtTensorTypeAndShapeInfo *shape, int64_t *sizes, size_t axes);
  void *others_63[2];
  OrtStatus *(*GetTensorTypeAndShape)(const OrtValue *value, OrtTensorTypeAndShapeInfo **shape);
  void *others_66[19];
  OrtStatus *(*KernelInfoGetAttribute_float)(const OrtKernelInfo *info, const char *name, float *value);
  OrtStatus *(*KernelInfoGetAttribute_int64)(const OrtKernelInfo *info, const char *name, int64_t *value);
  void *others_87[1];
  OrtStatus *(*KernelContext_GetInputCount)(const OrtKernelContext *context, size_t *inputs);
  OrtStatus *(*KernelContext_GetOutputCount)(const OrtKernelContext *context, size_t *outputs);
  OrtStatus *(*KernelContext_GetInput)(const OrtKernelContext *context, size_t index, const OrtValue **value);
  OrtStatus *(*KernelContext_GetOutput)(OrtKernelContext *context, size_t index, const int64_t *sizes, size_t axes, OrtValue **value);
  void *others_92[7];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo *shape);
  void *others_100[63];
  OrtStatus *(*KernelInfoGetAttributeArray_int64)(const OrtKernelInfo *info, const char *name, int64_t *values, size_t *count);
  void *others_164[66];
  OrtStatus *(*KernelInfo_GetInputCount)(const OrtKernelInfo *info, size_t *inputs);
  OrtStatus *(*KernelInfo_GetOutputCount)(const OrtKernelInfo *info, size_t *outputs);
  void *others_232[17];
  OrtStatus *(*KernelInfoGetConstantInput_tensor)(const OrtKernelInfo *info, size_t index, int *is_constant, const OrtValue **value);
  void *others_250[24];
  OrtStatus *(*KernelContext_ParallelFor)(const OrtKernelContext *context, void (*task)(void *data, size_t index), size_t count, size_t batches,
                                          void *data);
} OrtApi;
_Static_assert(offsetof(OrtApi, CreateStatus) == 0 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, CreateCustomOpDomain) == 26 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, GetTensorMutableData) == 51 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, GetTensorTypeAndShape) == 65 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, KernelContext_GetInput) == 90 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, ReleaseTensorTypeAndShapeInfo) == 99 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, KernelInfoGetAttributeArray_int64) == 163 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, KernelInfo_GetOutputCount) == 231 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, KernelInfoGetConstantInput_tensor) == 249 * sizeof(void *), "OrtApi");
_Static_assert(offsetof(OrtApi, KernelContext_ParallelFor) == 274 * sizeof(void *), "OrtApi");

enum { FAIL = 1, INVALID_ARGUMENT = 2 };
static const OrtApi *api;

/** ONNX Runtime's OrtCustomOp, which also only grows at its end; our fields come after those that it reads. */
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
  OrtStatus *(*create)(const struct Operator *, const OrtApi *, const OrtKernelInfo *info, void **kernel);
  OrtStatus *(*compute)(void *kernel, OrtKernelContext *context);

  const char *called;
  size_t all_inputs, all_outputs, optional_inputs, optional_outputs; // the optional ones come last
  unsigned integers; // a bit for each input that has int64 numbers,
  unsigned stored; // for each matrix that may have bytes instead,
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
static int operator_output_type(const Operator *operator, size_t index) { return operator->half_outputs>> index & 1 ? HALVES : FLOATS; }
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
  .output_type = operator_output_type, .outputs = operator_outputs, .input_kind = operator_input_kind, .output_kind = operator_output_kind, \
  .input_memory = operator_input_memory

/** Sets a pointer of any type, whose address `data` is, to the memory of an array. */
static OrtStatus *read_data(const OrtValue *value, void *data) { return api->GetTensorMutableData(value, data); }
static OrtStatus *invalid_argument(const char *message) { return api->CreateStatus(INVALID_ARGUMENT, message); }
static OrtStatus *out_of_memory(void) { return api->CreateStatus(FAIL, "gradus: out of memory"); }

static OrtStatus *in_parallel(OrtKernelContext *context, void (*task)(void *data, size_t index), int64_t count, void *data) {
  if (count > 1) return api->KernelContext_ParallelFor(context, task, (size_t)count, (size_t)0, data);
  task(data, 0);
  return 0;
}

/** The sizes of an array with `least` to `most` axes, and how many these are. */
static OrtStatus *read_shape(const OrtValue *value, size_t least, size_t most, int64_t *sizes, size_t *axes) {
  OrtTensorTypeAndShapeInfo *shape;
  OrtStatus *status = api->GetTensorTypeAndShape(value, &shape);
  if (status) return status;
  status = api->GetDimensionsCount(shape, axes);
  if (!status && (*axes < least || *axes > most)) status = invalid_argument("gradus: an operand has another number of axes");
  if (!status) status = api->GetDimensions(shape, sizes, *axes);
  api->ReleaseTensorTypeAndShapeInfo(shape);
  return status;
}

/** A pointer to the data of an array with so many axes, and its sizes. */
static OrtStatus *read_array(const OrtValue *value, void *data, int64_t *sizes, size_t axes) {
  OrtStatus *status = read_data(value, data);
  return status ? status : read_shape(value, axes, axes, sizes, &axes);
}

/** The same of an input. One that is left out has no data. */
static OrtStatus *read_input(const OrtKernelContext *context, size_t index, void *data, int64_t *sizes, size_t axes) {
  const OrtValue *value;
  size_t inputs;
  *(void **)data = 0;
  OrtStatus *status = api->KernelContext_GetInputCount(context, &inputs);
  if (status || index >= inputs) return status;
  status = api->KernelContext_GetInput(context, index, &value);
  return status || !value ? status : read_array(value, data, sizes, axes);
}

/** A matrix in this format, an attribute of its node. Bytes have a row for each of its rows, if that is made of whole blocks. */
static OrtStatus *read_matrix(const OrtValue *value, int64_t format, Matrix *matrix, int64_t sizes[2]) {
  OrtStatus *status = read_array(value, &matrix->numbers, sizes, 2);
  if (status) return status;
  if (format < 0 || format >= FORMATS) return invalid_argument("gradus: a matrix has an unknown format");
  if (format != FLOAT32) sizes[1] = sizes[1] / units[format].bytes * units[format].blocks * STORED_BLOCK;
  matrix->format = (Format)format;
  matrix->stride = sizes[1];
  matrix->block = 0;
  return 0;
}

static OrtStatus *read_matrix_input(const OrtKernelContext *context, size_t index, int64_t format, Matrix *matrix, int64_t sizes[2]) {
  const OrtValue *value;
  OrtStatus *status = api->KernelContext_GetInput(context, index, &value);
  return status ? status : read_matrix(value, format, matrix, sizes);
}

/** Whether something reads the result with this index, an optional one. */
static int has_output(const OrtKernelContext *context, size_t index) {
  size_t outputs = 0;
  return !api->KernelContext_GetOutputCount(context, &outputs) && index < outputs;
}

/** The memory for a result. */
static OrtStatus *make_output(OrtKernelContext *context, size_t index, const int64_t *sizes, size_t axes, float **data) {
  OrtValue *value;
  OrtStatus *status = api->KernelContext_GetOutput(context, index, sizes, axes, &value);
  return status ? status : read_data(value, data);
}
