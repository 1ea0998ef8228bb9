// Products with so few columns that they are computed on the way: the first matrix of an adapter, whose input a layer reads anyway.
#pragma once

#include <immintrin.h>
#include "packing.h"

/** One number of a product. */
static float thin_number(const Product *p, const float *left, long column) {
  const float *right = p->right.numbers;
  __m512 sum = _mm512_setzero_ps();
  for (long k = 0; k < p->depth; k += 16) {
    const __mmask16 mask = mask_of(p->depth - k);
    sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, left + k), _mm512_maskz_loadu_ps(mask, right + column * p->depth + k), sum);
  }
  return p->alpha * _mm512_reduce_add_ps(sum);
}

/** 16 numbers of a product. */
static __m512 thin_numbers(const Product *p, const float *left, long column, __mmask16 mask) {
  const float *right = p->right.numbers;
  __m512 sum = _mm512_setzero_ps();
  for (long k = 0; k < p->depth; k++)
    sum = _mm512_fmadd_ps(_mm512_set1_ps(left[k]), _mm512_maskz_loadu_ps(mask, right + k * p->columns + column), sum);
  return _mm512_mul_ps(_mm512_set1_ps(p->alpha), sum);
}

/** Rows of a product, without tiles. */
static void multiply_thin(const Product *p, long first, long rows) {
  for (long row = first; row < first + rows; row++) {
    const float *left = p->left + row * p->depth;
    float *into = p->result + row * p->columns;
    for (long column = 0; p->right_transposed && column < p->columns; column++) into[column] = thin_number(p, left, column);
    for (long column = 0; !p->right_transposed && column < p->columns; column += 16) {
      const __mmask16 mask = mask_of(p->columns - column);
      _mm512_mask_storeu_ps(into + column, mask, thin_numbers(p, left, column, mask));
    }
  }
}
