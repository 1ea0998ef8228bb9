// Products with few columns, computed along with another: the first matrix of an adapter, whose input a layer reads anyway.
#pragma once

#include "packing.h"

enum {
  SIDE = 4, // rows and columns that are multiplied at once
  SUM_COLUMNS = REGISTERS / 8 // of these the columns whose sums are in registers
};

/** Products of four rows and four other ones, in float32 or float16: number 4 · i + j is that of left[i] and right[j]. */
static inline __attribute__((always_inline)) Vector multiply_rows(const float *const left[SIDE], const void *const right[SIDE], const Format format,
                                                                  const int64_t depth) {
  Vector sums[SIDE * SIDE];
  UNROLLED
  for (int i = 0; i < SIDE * SIDE; i++) sums[i] = broadcast(0);
  UNROLLED
  for (int first = 0; first < SIDE; first += SUM_COLUMNS)
    for (int64_t k = 0; k < depth; k += 16) {
      Vector numbers[SUM_COLUMNS];
      UNROLLED
      for (int j = 0; j < SUM_COLUMNS; j++) numbers[j] = numbers_at(format, depth - k, right[first + j], k);
      UNROLLED
      for (int i = 0; i < SIDE; i++) {
        const Vector x = load_first(depth - k, left[i] + k);
        UNROLLED
        for (int j = 0; j < SUM_COLUMNS; j++) sums[SIDE * i + first + j] = fmadd(x, numbers[j], sums[SIDE * i + first + j]);
      }
    }
  return sum_each(sums);
}

/** Writes up to 4 × 4 numbers, from a vector of them. */
static inline void write_square(Vector square, int64_t rows, int64_t columns, float *into, int64_t stride) {
  float numbers[SIDE * SIDE];
  store(numbers, square);
  for (int64_t i = 0; i < SIDE && i < rows; i++) {
    float *place = into + i * stride;
    if (columns >= SIDE) memcpy(place, numbers + SIDE * i, SIDE * sizeof *place);
    else
      for (int64_t j = 0; j < SIDE - 1; j++)
        if (j < columns) place[j] = numbers[SIDE * i + j];
  }
}

/** Up to 4 × 4 numbers of a product whose right operand is stored transposed. */
static void multiply_square(const Product *p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const float *left[SIDE];
  const void *right[SIDE];
  for (int i = 0; i < SIDE; i++) { // beyond the edges the last one again
    left[i] = p->left + (row + least(i, rows - 1)) * p->depth;
    right[i] = (const float *)p->right.numbers + (column + least(i, columns - 1)) * p->depth;
  }
  const Vector square = mul(broadcast(p->alpha), multiply_rows(left, right, FLOAT32, p->depth));
  write_square(square, rows, columns, p->result + row * p->columns + column, p->columns);
}

/** Up to 16 numbers of a row. */
static Vector thin_numbers(const Product *p, const float *left, int64_t column, int64_t count) {
  const float *right = p->right.numbers;
  Vector sum = broadcast(0);
  for (int64_t k = 0; k < p->depth; k++) sum = fmadd(broadcast(left[k]), load_first(count, right + k * p->columns + column), sum);
  return mul(broadcast(p->alpha), sum);
}

/** Rows and columns of a product, without packing. */
static void multiply_thin(const Product *p, int64_t first_row, int64_t rows, int64_t first, int64_t last) {
  if (p->right_transposed) {
    for (int64_t row = 0; row < rows; row += SIDE)
      for (int64_t column = first; column < last; column += SIDE)
        multiply_square(p, first_row + row, least(SIDE, rows - row), column, least(SIDE, last - column));
    return;
  }
  for (int64_t row = first_row; row < first_row + rows; row++)
    for (int64_t column = first; column < last; column += 16)
      store_first(last - column, p->result + row * p->columns + column, thin_numbers(p, p->left + row * p->depth, column, last - column));
}
