// Products with so few columns that they are computed on the way: the first matrix of an adapter, whose input a layer reads anyway.
#pragma once

#include <immintrin.h>
#include "packing.h"

enum { SIDE = 4 }; // rows and columns whose sums are in registers

/** Products of four rows and four other ones: number 4 · i + j is that of left[i] and right[j]. */
static inline __attribute__((always_inline)) __m512 multiply_rows(const float *const left[SIDE], const float *const right[SIDE], const long depth) {
  __m512 sums[SIDE * SIDE];
#pragma GCC unroll 16
  for (int i = 0; i < SIDE * SIDE; i++) sums[i] = _mm512_setzero_ps();
  for (long k = 0; k < depth; k += 16) {
    const __mmask16 mask = mask_of(depth - k);
    __m512 numbers[SIDE];
#pragma GCC unroll 4
    for (int i = 0; i < SIDE; i++) numbers[i] = _mm512_maskz_loadu_ps(mask, right[i] + k);
#pragma GCC unroll 4
    for (int i = 0; i < SIDE; i++) {
      const __m512 x = _mm512_maskz_loadu_ps(mask, left[i] + k);
#pragma GCC unroll 4
      for (int j = 0; j < SIDE; j++) sums[SIDE * i + j] = _mm512_fmadd_ps(x, numbers[j], sums[SIDE * i + j]);
    }
  }
  return sum_each(sums);
}

/** Writes up to 4 × 4 numbers, from a vector of them. */
static inline void write_square(__m512 square, long rows, long columns, float *into, long stride) {
  const __mmask16 mask = mask_of(columns < SIDE ? columns : SIDE);
  float numbers[SIDE * SIDE + 16];
  _mm512_storeu_ps(numbers, square);
  for (long i = 0; i < SIDE && i < rows; i++) _mm512_mask_storeu_ps(into + i * stride, mask, _mm512_loadu_ps(numbers + SIDE * i));
}

/** Up to 4 × 4 numbers of a product whose right operand is stored transposed. */
static void multiply_square(const Product *p, long row, long rows, long column, long columns) {
  const float *left[SIDE], *right[SIDE];
  for (int i = 0; i < SIDE; i++) { // beyond the edges the last one again
    left[i] = p->left + (row + least(i, rows - 1)) * p->depth;
    right[i] = (const float *)p->right.numbers + (column + least(i, columns - 1)) * p->depth;
  }
  const __m512 square = _mm512_mul_ps(_mm512_set1_ps(p->alpha), multiply_rows(left, right, p->depth));
  write_square(square, rows, columns, p->result + row * p->columns + column, p->columns);
}

/** 16 numbers of a row. */
static __m512 thin_numbers(const Product *p, const float *left, long column, __mmask16 mask) {
  const float *right = p->right.numbers;
  __m512 sum = _mm512_setzero_ps();
  for (long k = 0; k < p->depth; k++)
    sum = _mm512_fmadd_ps(_mm512_set1_ps(left[k]), _mm512_maskz_loadu_ps(mask, right + k * p->columns + column), sum);
  return _mm512_mul_ps(_mm512_set1_ps(p->alpha), sum);
}

/** Rows and columns of a product, without packing. */
static void multiply_thin(const Product *p, long first_row, long rows, long first, long last) {
  if (p->right_transposed) {
    for (long row = 0; row < rows; row += SIDE)
      for (long column = first; column < last; column += SIDE)
        multiply_square(p, first_row + row, least(SIDE, rows - row), column, least(SIDE, last - column));
    return;
  }
  for (long row = first_row; row < first_row + rows; row++)
    for (long column = first; column < last; column += 16) {
      const __mmask16 mask = mask_of(last - column);
      _mm512_mask_storeu_ps(p->result + row * p->columns + column, mask, thin_numbers(p, p->left + row * p->depth, column, mask));
    }
}
