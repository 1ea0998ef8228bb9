// Products of integers on the vector unit (AVX-512 VNNI).
#pragma once

#include "integer-unit-functions.h"

enum { INTEGER_ROWS = 8 }; // at most this many have their sums in registers

/** Rows of 16 bits have two sums each. */
static inline __attribute__((always_inline)) int rows_at_once(const Coding c) { return c.row_bytes == 2 ? 4 : INTEGER_ROWS; }

/** Four levels of each of 16 columns. The unit multiplies unsigned integers with signed ones, so 128 is added to levels that have signs. */
static inline __attribute__((always_inline)) __m512i read_levels(const uint8_t *from, const Coding c) {
  const __m512i levels = _mm512_load_si512(from);
  return c.bits == 8 ? _mm512_xor_si512(levels, _mm512_set1_epi8(-128)) : levels;
}

static inline __attribute__((always_inline)) __m512i repeat_four(const uint8_t *from) {
  int32_t bytes;
  memcpy(&bytes, from, sizeof bytes);
  return _mm512_set1_epi32(bytes);
}

/** The same as the intrinsic, with which compilers copy sums between registers. */
static inline __attribute__((always_inline)) void multiply_add(__m512i *sums, __m512i levels, __m512i integers) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(*sums) : "v"(levels), "v"(integers));
}

static inline __attribute__((always_inline)) void add_block(const uint8_t *left, int first, Right right, const Coding c, const int rows,
                                                            RowSums *result) {
  const RowScales *scales = row_scales(left, c);
  __m512i high[INTEGER_ROWS][2], low[INTEGER_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) high[i / 2][i % 2] = low[i / 2][i % 2] = _mm512_setzero_si512();
  left += rounded_row_bytes(c) * first;
  for (int k = 0; k < c.deep; k += 4) {
    const __m512i levels[2] = {read_levels(right.levels + 16 * k, c), read_levels(right.levels + 16 * (c.deep + k), c)};
    UNROLLED
    for (int row = 0; row < rows; row++) {
      const uint8_t *integers = left + rounded_row_bytes(c) * row + k;
      UNROLLED
      for (int tile = 0; tile < 2; tile++) {
        if (c.row_bytes == 2) multiply_add(&high[row][tile], levels[tile], repeat_four(integers));
        multiply_add(&low[row][tile], levels[tile], repeat_four(integers + (c.row_bytes - 1) * c.deep));
      }
    }
  }
  UNROLLED
  for (int tile = 0; tile < 2; tile++) {
    const __m512 column_scales = read_scales(right.scales, c, 16 * tile);
    UNROLLED
    for (int row = 0; row < rows; row++) {
      __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(high[row][tile], 8), low[row][tile]);
      if (c.bits == 8) whole = _mm512_sub_epi32(whole, _mm512_slli_epi32(_mm512_set1_epi32(scales->whole_sums[first + row]), 7));
      const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), _mm512_set1_ps(scales->scales[first + row]));
      __m512 sum = _mm512_fmadd_ps(product, column_scales, result->of[first + row][tile]);
      if (c.offsets) sum = _mm512_fmadd_ps(_mm512_set1_ps(scales->sums[first + row]), read_scales(right.scales + scale_bytes(c), c, 16 * tile), sum);
      result->of[first + row][tile] = sum;
    }
  }
}
