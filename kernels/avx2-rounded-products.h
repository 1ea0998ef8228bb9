// Products of operands that are rounded to integers (AVX2).
#pragma once

#include "avx2-tiles.h"
#include "rounded-operands.h"

#define ROUNDS

enum { COARSE_BLOCK = ROUNDED_BLOCK, COARSE_SPAN = SPAN };

/** Adds the products of a row's pair and the pairs of 16 columns. With intrinsics, compilers copy sums between registers. */
static inline __attribute__((always_inline)) void add_pairs(const int32_t *left, __m256i lower, __m256i upper, __m256i sums[2]) {
  __m256i two, products;
  __asm__("vpbroadcastd %4, %2\n\tvpmaddwd %2, %5, %3\n\tvpaddd %3, %0, %0\n\tvpmaddwd %2, %6, %2\n\tvpaddd %2, %1, %1"
          : "+x"(sums[0]), "+x"(sums[1]), "=&x"(two), "=&x"(products)
          : "m"(*left), "x"(lower), "x"(upper));
}

/** Adds the product of some rows and 16 columns, as deep as a span at most, to sums: [rows, BLOCK]. */
static inline __attribute__((always_inline)) void add_rounded_rows(const Packed *left, const float *row_scales, const Packed *right,
                                                                   const float *column_scales, int64_t depth, const int rows, float *into) {
  __m256i sums[MOST_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = _mm256_setzero_si256();
  for (; depth > 0; depth -= BLOCK, left += ROUNDED_BLOCK, right += ROUNDED_BLOCK)
    for (int64_t pair = 0; pair < BLOCK / 2; pair++) {
      const __m256i *place = (const __m256i *)(right + 32 * pair);
      const __m256i lower = _mm256_load_si256(place), upper = _mm256_load_si256(place + 1);
      UNROLLED
      for (int row = 0; row < rows; row++) add_pairs((const int32_t *)(left + row * BLOCK) + pair, lower, upper, sums[row]);
    }
  const Vector scales = load(column_scales);
  UNROLLED
  for (int row = 0; row < rows; row++) {
    const Vector product = mul(broadcast(row_scales[row]), ints_to_floats((Ints){sums[row][0], sums[row][1]}));
    store(into + row * BLOCK, fmadd(product, scales, load(into + row * BLOCK)));
  }
}

static void add_rounded_product(Factors f, int64_t rows, int64_t columns, float *sums) {
  for (int64_t start = 0; start < f.depth; start += SPAN) {
    const Packed *left = f.left + start / BLOCK * ROUNDED_BLOCK, *right = f.right + start / BLOCK * ROUNDED_BLOCK;
    const int64_t depth = least(SPAN, f.depth - start);
    for (int64_t half = 0; 16 * half < columns; half++) {
      const Packed *numbers = right + half * HIGH_BLOCK / 2;
      const float *row_scales = scales_of_span(left), *column_scales = scales_of_span(right) + 16 * half;
      for (int64_t row = 0, count; row < rows; row += count) {
        count = next_rows(rows - row);
        float *into = sums + row * BLOCK + 16 * half;
        if (count == MOST_ROWS) add_rounded_rows(left + row * BLOCK, row_scales + row, numbers, column_scales, depth, MOST_ROWS, into);
        else add_rounded_rows(left + row * BLOCK, row_scales + row, numbers, column_scales, depth, FEWER_ROWS, into);
      }
    }
  }
}
