// TallGemm, the operator that ONNX Runtime calls for alpha · leftᵀ · right of two matrices with many rows, one of which is thin: gradients of adapters
// (LoRA).
//
// Most time is spent reading the wide matrix, so nothing is packed. A task is some of its columns, whose sums stay in the first cache; rows are added in
// their order, however many threads there are.
#pragma once

#include <stdlib.h>
#include <string.h>
#include "onnxruntime.h"
#include "product.h"
#include "scratch.h"
#include "vectors.h"

enum {
  TALL_COLUMNS = 64, // of a task
  TALL_ROWS = 64, // that are added before the next thin columns
  TALL_SUMS = REGISTERS / 2, // thin columns whose sums stay in registers
  MOST_THIN = 64,
};

typedef struct {
  const float *wide, *thin; // [rows, columns] and [rows, padded]
  float *result;
  int64_t rows, columns, thin_columns, padded;
  int is_left; // whether the left matrix is the thin one
  float alpha;
} TallProduct;

/** Adds products of 16 wide columns, or the first of them, and some thin ones, over some rows: sums[thin · TALL_COLUMNS + column]. */
static inline __attribute__((always_inline)) void add_tall(const TallProduct *p, const float *wide, int64_t there, const float *thin, int64_t rows,
                                                           float *into) {
  Vector sums[TALL_SUMS];
  UNROLLED
  for (int i = 0; i < TALL_SUMS; i++) sums[i] = load(into + i * TALL_COLUMNS);
  for (int64_t row = 0; row < rows; row++, wide += p->columns, thin += p->padded) {
    __builtin_prefetch(wide + TALL_ROWS * p->columns, 0, 3);
    const Vector numbers = load_first(there, wide);
    UNROLLED
    for (int i = 0; i < TALL_SUMS; i++) sums[i] = fmadd(broadcast(thin[i]), numbers, sums[i]);
  }
  UNROLLED
  for (int i = 0; i < TALL_SUMS; i++) store(into + i * TALL_COLUMNS, sums[i]);
}

static void tall_task(void *data, size_t index) {
  const TallProduct *p = data;
  const int64_t first = (int64_t)index * TALL_COLUMNS, count = least(TALL_COLUMNS, p->columns - first);
  float sums[MOST_THIN * TALL_COLUMNS];
  memset(sums, 0, p->padded * TALL_COLUMNS * sizeof *sums);
  for (int64_t row = 0; row < p->rows; row += TALL_ROWS)
    for (int64_t thin = 0; thin < p->padded; thin += TALL_SUMS)
      for (int64_t column = 0; column < count; column += 16)
        add_tall(p, p->wide + row * p->columns + first + column, count - column, p->thin + row * p->padded + thin, least(TALL_ROWS, p->rows - row),
                 sums + thin * TALL_COLUMNS + column);
  for (int64_t thin = 0; thin < p->thin_columns; thin++)
    for (int64_t column = 0; column < count; column++) {
      const float sum = p->alpha * sums[thin * TALL_COLUMNS + column];
      if (p->is_left) p->result[thin * p->columns + first + column] = sum;
      else p->result[(first + column) * p->thin_columns + thin] = sum;
    }
}

/** Thin rows with zeros after them, so that there are sums for all registers. */
static void pad_rows(const float *from, const TallProduct *p, float *into) {
  for (int64_t row = 0; row < p->rows; row++, into += p->padded) {
    memcpy(into, from + row * p->thin_columns, p->thin_columns * sizeof *into);
    memset(into + p->thin_columns, 0, (p->padded - p->thin_columns) * sizeof *into);
  }
}

typedef struct {
  float alpha;
} TallNode;

static OrtStatus *create_tall(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  TallNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  OrtStatus *status = api->KernelInfoGetAttribute_float(info, "alpha", &node->alpha);
  if (status) free(node);
  else *created = node;
  return status;
}

static OrtStatus *run_tall(void *data, OrtKernelContext *context) {
  const TallNode *node = data;
  const float *left, *right;
  int64_t left_sizes[2], right_sizes[2];
  TallProduct p = {.alpha = node->alpha};
  OrtStatus *status = read_input(context, 0, &left, left_sizes, 2);
  if (!status) status = read_input(context, 1, &right, right_sizes, 2);
  if (!status) status = make_output(context, 0, (int64_t[]){left_sizes[1], right_sizes[1]}, 2, &p.result);
  if (status) return status;
  p.is_left = left_sizes[1] <= right_sizes[1];
  p.rows = left_sizes[0];
  p.columns = p.is_left ? right_sizes[1] : left_sizes[1];
  p.thin_columns = p.is_left ? left_sizes[1] : right_sizes[1];
  p.padded = ceiling(p.thin_columns, TALL_SUMS) * TALL_SUMS;
  p.wide = p.is_left ? right : left;
  p.thin = p.is_left ? left : right;
  if (left_sizes[0] != right_sizes[0] || p.padded > MOST_THIN) return invalid_argument("TallGemm: the sizes of the operands do not fit");
  if (p.columns == 0) return 0;
  Scratch padded = {0, 0};
  if (p.padded > p.thin_columns) {
    padded = borrow(p.rows * p.padded * sizeof(float));
    if (!padded.memory) return out_of_memory();
    pad_rows(p.thin, &p, padded.memory);
    p.thin = padded.memory;
  }
  status = in_parallel(context, tall_task, ceiling(p.columns, TALL_COLUMNS), &p);
  if (padded.memory) give_back(padded);
  return status;
}

static const Operator tall_gemm = {
    COMMON_FIELDS, .called = "TallGemm", .all_inputs = 2, .all_outputs = 1, .create = create_tall, .compute = run_tall, .destroy = free,
};
