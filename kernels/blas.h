// Large products in float32 by a library with the interface of BLAS, which is loaded at run time: Apple's Accelerate, because nothing else can use the
// matrix units of Apple's processors. Elsewhere only tests set BLAS_LIBRARY, to OpenBLAS.
#pragma once

#if defined __APPLE__ && !defined BLAS_LIBRARY
#define BLAS_LIBRARY "/System/Library/Frameworks/Accelerate.framework/Accelerate"
#endif

#ifdef BLAS_LIBRARY

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include "packing.h"
#include "platform.h"
#include "scratch.h"
#include "threads.h"

enum {
  LEAST_BLAS_WORK = 64 * 64 * 64, // multiplications: smaller products take longer to hand over
  LEAST_BLAS_SIZE = 16,
  DECODED_NUMBERS = 1 << 22, // of a right operand in another format than float32, at most, if a row has no more
  DECODED_ROWS = 16, // in a task
};

enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };
typedef void (*Sgemm)(int order, int transposed_left, int transposed_right, int rows, int columns, int depth, float alpha, const float *left,
                      int left_stride, const float *right, int right_stride, float beta, float *result, int result_stride);

static _Atomic(Sgemm) sgemm;
static atomic_int blas_state; // 0 before it is looked for, 1 if it is there, 2 if not
static _Atomic int64_t blas_products;

static int has_blas(void) {
  if (blas_state == 0) { // two threads may do the same, with the same result
    void *library = dlopen(BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    sgemm = library ? (Sgemm)dlsym(library, "cblas_sgemm") : (Sgemm)0;
    blas_state = sgemm ? 1 : 2;
  }
  return blas_state == 1;
}

/** Whether the library is there. */
EXPORTED int gradus_has_blas(void) { return has_blas(); }

/** How many products were handed over, for tests. */
EXPORTED int64_t gradus_blas_products(void) { return blas_products; }

/** Rounded products are handed over where rounding means nothing. */
static int is_for_blas(const Product *p) {
  const int whole = left_size(p->rounding) == WHOLE_BLOCK && !p->packed && !p->levels && !p->batch_invariant;
  const int large = p->rows >= LEAST_BLAS_SIZE && p->columns >= LEAST_BLAS_SIZE && p->rows * p->columns * p->depth >= LEAST_BLAS_WORK;
  const int fits = p->rows < INT_MAX && p->columns < INT_MAX && p->depth < INT_MAX && p->right.stride < INT_MAX;
  return whole && large && fits && has_blas();
}

/** result = alpha · left · right + beta · result, for some columns of the right operand and some of its depth. */
static void multiply_by_blas(const Product *p, Matrix right, int64_t first, int64_t columns, int64_t start, int64_t depth, float beta) {
  const int64_t left_stride = p->left_transposed ? p->rows : p->depth;
  const float *left = p->left + (p->left_transposed ? start * left_stride : start);
  sgemm(ROW_MAJOR, p->left_transposed ? TRANSPOSED : AS_IT_IS, p->right_transposed ? TRANSPOSED : AS_IT_IS, (int)p->rows, (int)columns, (int)depth,
        p->alpha, left, (int)left_stride, right.numbers, (int)right.stride, beta, p->result + first, (int)p->columns);
}

typedef struct {
  Matrix from;
  int64_t rows, width;
  float *into;
} Decoding;

static void decode_task(void *data, size_t index) {
  const Decoding *d = data;
  const int64_t row = (int64_t)index * DECODED_ROWS;
  const Matrix part = part_of(d->from, row, 0);
  decode(&part, least(DECODED_ROWS, d->rows - row), d->width / STORED_BLOCK, d->into + row * d->width);
}

/** Decodes some rows of the right operand at a time: they are columns of the result, or places in depth. */
static OrtStatus *multiply_decoded(const Product *p, float beta, OrtKernelContext *context) {
  const int64_t all = p->right_transposed ? p->columns : p->depth, width = p->right.stride;
  const int64_t fitting = DECODED_NUMBERS / width, together = least(all, fitting > 0 ? fitting : 1);
  const Scratch scratch = borrow(together * width * sizeof(float));
  if (!scratch.memory) return out_of_memory();
  OrtStatus *status = 0;
  for (int64_t first = 0; first < all && !status; first += together) {
    Decoding d = {part_of(p->right, first, 0), least(together, all - first), width, scratch.memory};
    status = in_parallel(context, decode_task, ceiling(d.rows, DECODED_ROWS), &d);
    if (status) break;
    if (p->right_transposed) multiply_by_blas(p, floats(d.into, width), first, d.rows, 0, p->depth, beta);
    else multiply_by_blas(p, floats(d.into, width), 0, p->columns, first, d.rows, first > 0 ? 1 : beta);
  }
  give_back(scratch);
  return status;
}

static OrtStatus *compute_by_blas(const Product *p, OrtKernelContext *context) {
  blas_products++;
  if (p->addend) memcpy(p->result, p->addend, p->rows * p->columns * sizeof *p->result);
  const float beta = p->addend ? 1 : 0;
  OrtStatus *status = 0;
  if (p->right.format != FLOAT32) status = multiply_decoded(p, beta, context);
  else multiply_by_blas(p, p->right, 0, p->columns, 0, p->depth, beta);
  if (p->lora_a) multiply_by_blas(p->lora_a, p->lora_a->right, 0, p->lora_a->columns, 0, p->depth, 0);
  if (p->lora_b) {
    Product thin = *p->lora_b;
    thin.result = p->result;
    multiply_by_blas(&thin, thin.right, 0, p->columns, 0, thin.depth, 1);
  }
  return status;
}

#endif
