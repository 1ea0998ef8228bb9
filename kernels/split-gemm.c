// A matrix product for ONNX Runtime that uses the bfloat16 matrix units of x86 processors (AMX) for float32 operands.
//
// Each number is split into two bfloat16 numbers, x = high + low, which keep 16 of its 24 bits. The product is
// high·high + high·low + low·high, summed in float32: its relative error is about 4e-6, while that of bfloat16 alone is 2e-3
// (Henry, Tang & Heinecke 2019, arXiv:1904.06376; PyTorch calls this precision "high").
//
// Operands are cut into tiles of 16 × 32 numbers, as large as a register of the matrix unit, and packed: into strips of 32 rows of the
// left operand and panels of 32 columns of the right one. Where a strip meets a panel, four tiles of the result stay in registers.
// Threads share out the panels, and the strips too if there are few panels. A sum has the same order whatever they share out.
//
// In the order in which they build on each other: product.h, packing.h, rounding.h (8 bits), scratch.h, tiles.h (multiplies), few-rows.h
// (multiplies without tiles), tasks.h (divides a product among threads), and here the operator that ONNX Runtime calls.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tasks.h"

// What we use of ONNX Runtime's C API: the indices of functions in the OrtApi struct, and the beginning of the OrtCustomOp struct.
// Both only grow at their ends.
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
  GET_INPUT = 90,
  GET_OUTPUT = 91,
  RELEASE_SHAPE = 99,
  GET_CONSTANT = 249,
  PARALLEL_FOR = 274,
};
#define CALL(index, ...) ((void *(*)())api[index])(__VA_ARGS__)
enum { FAIL = 1, INVALID_ARGUMENT = 2 };
static Api api;

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
  void *variadic[4];
  void *(*create)(const struct Operator *, Api, const void *info, void **kernel);
  void *(*compute)(void *kernel, void *context);
} Operator;

/** A node of a graph. `packing` says whether the right operand, a constant, is packed once for all runs, and how. */
typedef struct {
  int64_t left_transposed, right_transposed, other_transposed;
  enum { UNPACKED, PACKED, PACKED_HIGH, ROUNDED } packing;
  float alpha, other_alpha;
  bfloat16 *packed;
  long packed_block;
  int8_t *rounded;
  float *scales;
} Kernel;

static void *out_of_memory(void) { return CALL(CREATE_STATUS, FAIL, "SplitGemm: out of memory"); }

static void *in_parallel(void *context, void (*task)(void *data, size_t index), long count, void *data) {
  if (count > 1) return CALL(PARALLEL_FOR, context, task, (size_t)count, (size_t)0, data);
  task(data, 0);
  return 0;
}

/** The data of a matrix and its sizes. */
static void *read_matrix(const void *value, const float **data, int64_t sizes[2]) {
  void *shape, *status = CALL(GET_DATA, value, data);
  size_t rank;
  if (!status) status = CALL(GET_SHAPE, value, &shape);
  if (status) return status;
  status = CALL(GET_RANK, shape, &rank);
  if (!status && rank != 2) status = CALL(CREATE_STATUS, INVALID_ARGUMENT, "SplitGemm: an operand is not a matrix");
  if (!status) status = CALL(GET_SIZES, shape, sizes, (size_t)2);
  CALL(RELEASE_SHAPE, shape);
  return status;
}

/** The same of an input. One that is left out has no data. */
static void *read_input(const void *context, size_t index, const float **data, int64_t sizes[2]) {
  const void *value;
  size_t inputs;
  *data = 0;
  void *status = CALL(COUNT_INPUTS, context, &inputs);
  if (status || index >= inputs) return status;
  status = CALL(GET_INPUT, context, index, &value);
  return status || !value ? status : read_matrix(value, data, sizes);
}

static void *pack_constant(Kernel *kernel, const void *info) {
  const void *value;
  int constant = 0;
  int64_t sizes[2];
  Product p = {.right_transposed = (int)kernel->right_transposed};
  void *status = CALL(GET_CONSTANT, info, (size_t)1, &constant, &value);
  if (!status && !constant) status = CALL(CREATE_STATUS, INVALID_ARGUMENT, "SplitGemm: what is packed must be a constant");
  if (!status) status = read_matrix(value, &p.right, sizes);
  if (status) return status;
  p.columns = sizes[p.right_transposed ? 0 : 1];
  p.depth = sizes[p.right_transposed ? 1 : 0];
  if (kernel->packing == ROUNDED) return round_panels(&p, &kernel->rounded, &kernel->scales) ? 0 : out_of_memory();
  const int high = kernel->packing == PACKED_HIGH || have_no_low_parts(p.right, p.columns * p.depth);
  kernel->packed_block = high ? HIGH : WHOLE;
  kernel->packed = pack_panels(&p, kernel->packed_block);
  return kernel->packed ? 0 : out_of_memory();
}

static void destroy(void *data) {
  Kernel *kernel = data;
  free(kernel->packed);
  free(kernel->rounded);
  free(kernel->scales);
  free(kernel);
}

static void *create(const Operator *operator, Api ignored, const void *info, void **created) {
  Kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return out_of_memory();
  int64_t packing = UNPACKED;
  void *status = CALL(GET_INTEGER, info, "transA", &kernel->left_transposed);
  if (!status) status = CALL(GET_INTEGER, info, "transB", &kernel->right_transposed);
  if (!status) status = CALL(GET_FLOAT, info, "alpha", &kernel->alpha);
  if (!status) status = CALL(GET_INTEGER, info, "packing", &packing);
  if (!status) status = CALL(GET_INTEGER, info, "other_transB", &kernel->other_transposed);
  if (!status) status = CALL(GET_FLOAT, info, "other_alpha", &kernel->other_alpha);
  kernel->packing = packing;
  if (!status && packing != UNPACKED) status = pack_constant(kernel, info);
  if (status) destroy(kernel);
  else *created = kernel;
  return status;
}

static void *compute(void *data, void *context) {
  const Kernel *kernel = data;
  Product p = {.left_transposed = (int)kernel->left_transposed,
               .right_transposed = (int)kernel->right_transposed,
               .alpha = kernel->alpha,
               .packed = kernel->packed,
               .packed_block = kernel->packed_block,
               .rounded = kernel->rounded,
               .scales = kernel->scales};
  Product other = {.right_transposed = (int)kernel->other_transposed, .alpha = kernel->other_alpha};
  int64_t left[2], right[2], addend[2], other_left[2], other_right[2];
  void *output, *status = read_input(context, 0, &p.left, left);
  if (!status) status = read_input(context, 1, &p.right, right);
  if (!status) status = read_input(context, 2, &p.addend, addend);
  if (!status) status = read_input(context, 3, &other.left, other_left);
  if (!status) status = read_input(context, 4, &other.right, other_right);
  if (status) return status;
  p.rows = left[p.left_transposed ? 1 : 0];
  p.depth = left[p.left_transposed ? 0 : 1];
  p.columns = right[p.right_transposed ? 0 : 1];
  int64_t sizes[2] = {p.rows, p.columns};
  int fit = right[p.right_transposed ? 1 : 0] == p.depth && (!p.addend || !memcmp(addend, sizes, sizeof sizes));
  if (other.left && other.right) {
    const int columns = other.right_transposed ? 0 : 1;
    other.rows = p.rows;
    other.columns = p.columns;
    other.depth = other_left[1];
    fit = fit && other_left[0] == p.rows && other_right[columns] == p.columns && other_right[1 - columns] == other.depth;
    p.other = &other;
  }
  if (!fit) return CALL(CREATE_STATUS, INVALID_ARGUMENT, "SplitGemm: the sizes of the operands do not fit");
  status = CALL(GET_OUTPUT, context, (size_t)0, sizes, (size_t)2, &output);
  if (!status) status = CALL(GET_DATA, output, &p.result);
  return status || p.rows == 0 ? status : compute_product(&p, context);
}

static const char *name(const Operator *operator) { return "SplitGemm"; }
static const char *provider(const Operator *operator) { return "CPUExecutionProvider"; }
static int float32(const Operator *operator, size_t index) { return 1; }
static size_t five(const Operator *operator) { return 5; }
static size_t one(const Operator *operator) { return 1; }
static int input_kind(const Operator *operator, size_t index) { return index >= 2; } // the addend and the other product are optional
static int required(const Operator *operator, size_t index) { return 0; }
static int default_memory(const Operator *operator, size_t index) { return 0; }

static const Operator split_gemm = {
    .version = 16, // the first version with statuses
    .name = name,
    .provider = provider,
    .input_type = float32,
    .inputs = five,
    .output_type = float32,
    .outputs = one,
    .destroy = destroy,
    .input_kind = input_kind,
    .output_kind = required,
    .input_memory = default_memory,
    .create = create,
    .compute = compute,
};

typedef struct { Api (*get_api)(uint32_t version); } ApiBase;

/** ONNX Runtime calls it for each session that this library is registered with. */
void *RegisterCustomOps(void *options, const ApiBase *base) {
  static void *domain;
  void *status = 0;
  if (!domain) {
    api = base->get_api(25);
    status = CALL(CREATE_DOMAIN, "gradus", &domain);
    if (!status) status = CALL(ADD_OPERATOR, domain, &split_gemm);
  }
  return status ? status : CALL(ADD_DOMAIN, options, domain);
}

/** Asks the system to let this process use the matrix unit. Returns 0 if it does. */
int gradus_request_amx(void) {
  const int request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return (int)syscall(SYS_arch_prctl, request_permission, tile_data);
}
