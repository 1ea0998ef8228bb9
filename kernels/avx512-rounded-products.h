// Products of operands that are rounded to integers (AVX-512 VNNI).
#pragma once

#include "avx512-tiles.h"
#include "rounded-operands.h"

/** Adds the products of a row's pair and the pairs of 32 columns. With intrinsics, compilers copy sums between registers. */
static inline __attribute__((always_inline)) void add_pairs(const int32_t *left, const __m512i columns[2], __m512i sums[2]) {
  const __m512i two = _mm512_set1_epi32(*left);
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sums[0]) : "v"(two), "v"(columns[0]));
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sums[1]) : "v"(two), "v"(columns[1]));
}

/** Adds sums of integers, of some rows and 32 columns, times both scales. */
static inline __attribute__((always_inline)) void add_scaled_sums(__m512i sums[MOST_ROWS][2], const float *row_scales, const float *column_scales,
                                                                  const int rows, float *into) {
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) {
    const Vector product = mul(load(column_scales + i % 2 * 16), ints_to_floats(sums[i / 2][i % 2]));
    store(into + 16 * i, fmadd(broadcast(row_scales[i / 2]), product, load(into + 16 * i)));
  }
}

/** Adds the product of some rows and 32 columns, as deep as a span at most, to sums: [rows, BLOCK]. */
static inline __attribute__((always_inline)) void add_rounded_rows(const Packed *left, const float *row_scales, const Packed *right,
                                                                   const float *column_scales, int64_t depth, const int rows, float *into) {
  __m512i sums[MOST_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = broadcast_ints(0);
  for (; depth > 0; depth -= BLOCK, left += ROUNDED_BLOCK, right += ROUNDED_BLOCK)
    for (int64_t pair = 0, pairs = ceiling(least(BLOCK, depth), 2); pair < pairs; pair++) {
      const Packed *place = right + 32 * pair;
      const __m512i columns[2] = {_mm512_load_si512(place), _mm512_load_si512(place + HIGH_BLOCK / 2)};
      for (int half = 0; half < 2; half++) _mm_prefetch((const char *)(place + half * HIGH_BLOCK / 2) + AHEAD, _MM_HINT_T0);
      UNROLLED
      for (int row = 0; row < rows; row++) add_pairs((const int32_t *)(left + row * BLOCK) + pair, columns, sums[row]);
    }
  add_scaled_sums(sums, row_scales, column_scales, rows, into);
}

static void add_rounded_product(Factors f, int64_t rows, float *sums) {
  for (int64_t start = 0; start < f.depth; start += SPAN) {
    const Packed *left = f.left + start / BLOCK * ROUNDED_BLOCK, *right = f.right + start / BLOCK * ROUNDED_BLOCK;
    const float *row_scales = scales_of_span(left), *column_scales = scales_of_span(right);
    const int64_t depth = least(SPAN, f.depth - start);
    for (int64_t row = 0; row < rows; row += MOST_ROWS) {
      const Packed *these = left + row * BLOCK;
      if (rows - row > FEWER_ROWS) add_rounded_rows(these, row_scales + row, right, column_scales, depth, MOST_ROWS, sums + row * BLOCK);
      else add_rounded_rows(these, row_scales + row, right, column_scales, depth, FEWER_ROWS, sums + row * BLOCK);
    }
  }
}
