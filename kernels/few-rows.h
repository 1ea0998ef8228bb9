// Products of few rows and a packed operand. The rows are not packed, because their blocks would be almost empty.
#pragma once

#include "packing.h"
#include "scratch.h"
#include "thin-product.h"
#include "threads.h"

/** What is added to a result besides the product, for up to 16 columns of a row. */
static Vector addends(const Product *p, int64_t row, int64_t column, int64_t count) {
  const Product *lora_b = p->lora_b;
  const Vector sum = p->addend ? load_first(count, p->addend + row * p->columns + column) : broadcast(0);
  if (!lora_b) return sum;
  const float *right = lora_b->right.numbers;
  float products[16] = {0};
  for (int64_t i = 0; i < least(16, count); i++) {
    Vector terms = broadcast(0);
    for (int64_t k = 0; lora_b->right_transposed && k < lora_b->depth; k += 16)
      terms = fmadd(load_first(lora_b->depth - k, lora_b->left + row * lora_b->depth + k),
                    load_first(lora_b->depth - k, right + (column + i) * lora_b->depth + k), terms);
    products[i] = hsum(terms);
    for (int64_t k = 0; !lora_b->right_transposed && k < lora_b->depth; k++)
      products[i] += lora_b->left[row * lora_b->depth + k] * right[k * p->columns + column + i];
  }
  return fmadd(load(products), broadcast(lora_b->alpha), sum);
}

/** Two sums of 16 numbers for each row and half of a panel: of products at even and at odd depths. */
typedef struct {
  Vector of[FEW_ROWS][2][2];
} Sums;

/** A product, and its left operand with zeros up to whole blocks. */
typedef struct {
  const Product *product;
  const float *padded;
} FewRows;

static inline __attribute__((always_inline)) void add_packed(const FewRows *few, int64_t panel, const int rows, Sums *sums) {
  const Product *p = few->product;
  const int64_t blocks = ceiling(p->depth, BLOCK);
  const Packed *from = p->packed + panel * blocks * p->packed_block;
  for (int64_t block = 0; block < blocks; block++, from += p->packed_block)
    for (int half = 0; half < 2; half++)
      for (int64_t pair = 0; pair < BLOCK / 2; pair++) {
        Vector numbers[2];
        read_pair(from, p->packed_block, half, pair, numbers);
        for (int row = 0; row < rows; row++) {
          const float *x = few->padded + (row * blocks + block) * BLOCK + 2 * pair;
          for (int i = 0; i < 2; i++) sums->of[row][half][i] = fmadd(numbers[i], broadcast(x[i]), sums->of[row][half][i]);
        }
      }
}

static inline __attribute__((always_inline)) void multiply_few(const FewRows *few, int64_t panel, const int rows) {
  const Product *p = few->product;
  Sums sums = {0};
  add_packed(few, panel, rows, &sums);
  for (int row = 0; row < rows; row++)
    for (int half = 0; half < 2; half++) {
      const int64_t column = panel * BLOCK + 16 * half, count = p->columns - column;
      if (count <= 0) continue;
      const Vector product = add(sums.of[row][half][0], sums.of[row][half][1]);
      store_first(count, p->result + row * p->columns + column, add(product, addends(p, row, column, count)));
    }
}

static void multiply_few_task(void *data, size_t index) {
  const FewRows *few = data;
  switch (few->product->rows) { // the loops over rows are unrolled
  case 1: multiply_few(few, (int64_t)index, 1); break;
  case 2: multiply_few(few, (int64_t)index, 2); break;
  case 3: multiply_few(few, (int64_t)index, 3); break;
  default: multiply_few(few, (int64_t)index, FEW_ROWS);
  }
}

static OrtStatus *compute_few(const Product *p, OrtKernelContext *context) {
  const int64_t width = ceiling(p->depth, BLOCK) * BLOCK;
  const Scratch scratch = borrow(p->rows * width * sizeof(float));
  float *padded = scratch.memory;
  if (!padded) return out_of_memory();
  for (int64_t row = 0; row < p->rows; row++)
    for (int64_t k = 0; k < width; k++) {
      const int64_t place = p->left_transposed ? k * p->rows + row : row * p->depth + k;
      padded[row * width + k] = k < p->depth ? p->alpha * p->left[place] : 0;
    }
  if (p->lora_a) multiply_thin(p->lora_a, 0, p->rows, 0, p->lora_a->columns);
  FewRows few = {p, padded};
  OrtStatus *status = in_parallel(context, multiply_few_task, ceiling(p->columns, BLOCK), &few);
  give_back(scratch);
  return status;
}
