// Products on the vector unit (AVX-512), in float32. Those of rounded operands are products of integers (avx512-rounded-products.h and
// avx512-coarse-products.h).
//
// A packed block of a left operand has its rows, one after another, 32 numbers of each. One of a right operand has 32 columns side by side for each
// place in depth; where they are bfloat16 numbers, it has two halves of 16 columns, each with two numbers of a column, then two of the next one.
#pragma once

#include "avx512-coarse-products.h"
#include "avx512-tiles.h"
#include "unit-functions.h"

/** 16 rows of 16 numbers, or their transpose; numbers beyond `rows` and `columns` are 0. */
static inline void read_square(const float *from, int64_t stride, int64_t rows, int64_t columns, int transposed, float factor, __m512 into[16]) {
  const __mmask16 mask = tail_mask(columns);
  UNROLLED
  for (int64_t row = 0; row < 16; row++)
    into[row] = _mm512_mul_ps(broadcast(factor), _mm512_maskz_loadu_ps(row < rows ? mask : 0, from + row * stride));
  if (transposed) transpose((__m512i *)into);
}

/** Rounds to bfloat16, as bits in the upper halves. NaN stays NaN. */
static inline __m512i round_upper(__m512 x) {
  const __m512i bits = (__m512i)x, even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
  return _mm512_mask_or_epi32(rounded, is_nan(x), bits, _mm512_set1_epi32(0x400000));
}

static inline void pack_block(const float *from, int64_t stride, int along, int is_right, int64_t size, int64_t width, int64_t depth, float factor,
                              Packed *into) {
  for (int64_t half = 0; half < 2 && 16 * half < width; half++)
    for (int64_t part = 0; part < 2; part++) {
      __m512 square[16];
      const int64_t across = width - 16 * half, deep = depth - 16 * part;
      if (along) read_square(from + 16 * half * stride + 16 * part, stride, across, deep, is_right, factor, square);
      else read_square(from + 16 * part * stride + 16 * half, stride, deep, across, !is_right, factor, square);
      if (size == WHOLE_BLOCK) {
        float *place = (float *)into + (is_right ? part : half) * 16 * BLOCK + (is_right ? half : part) * 16;
        UNROLLED
        for (int i = 0; i < 16; i++) _mm512_store_ps(place + i * BLOCK, square[i]);
      } else {
        Packed *place = into + half * HIGH_BLOCK / 2 + part * 16 * 16;
        UNROLLED
        for (int i = 0; i < 16; i += 2) {
          const __m512i even = round_upper(square[i]), odd = round_upper(square[i + 1]);
          _mm512_store_si512(place + i * 16, _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(even, 16), odd));
        }
      }
    }
}

static inline void pack(const float *from, int64_t stride, int along, int is_right, int64_t size, int64_t width, int64_t depth, float factor,
                        Packed *into) {
  if (size == ROUNDED_BLOCK) return pack_rounded(from, stride, along, is_right, width, least(SPAN, depth), factor, into);
  if (size == COARSE_BLOCK) return pack_coarse(from, stride, along, is_right, width, least(SPAN, depth), factor, into);
  for (int64_t k = 0; k < least(SPAN, depth); k += BLOCK, into += size)
    pack_block(from + (along ? k : k * stride), stride, along, is_right, size, width, depth - k, factor, into);
}

/** Numbers of 16 columns of a packed block of a right operand at depths `2 * pair` and `2 * pair + 1`. */
static inline __attribute__((always_inline)) void read_pair(const Packed *block, const int64_t size, int64_t half, int64_t pair, __m512 into[2]) {
  if (size == WHOLE_BLOCK) {
    const float *place = (const float *)block + 2 * pair * BLOCK + 16 * half;
    for (int i = 0; i < 2; i++) _mm_prefetch((const char *)(place + i * BLOCK) + AHEAD, _MM_HINT_T0);
    into[0] = _mm512_load_ps(place);
    into[1] = _mm512_load_ps(place + BLOCK);
  } else {
    const Packed *place = block + half * HIGH_BLOCK / 2 + pair * 32;
    _mm_prefetch((const char *)place + AHEAD, _MM_HINT_T0);
    widen_pairs(_mm512_load_si512(place), into);
  }
}

/** Adds products of some rows at two places in depth. */
static inline __attribute__((always_inline)) void add_pair(const float *left, const Packed *right, const int64_t size, int64_t pair, const int rows,
                                                           __m512 sums[MOST_ROWS][2]) {
  __m512 numbers[2][2];
  read_pair(right, size, 0, pair, numbers[0]);
  read_pair(right, size, 1, pair, numbers[1]);
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) {
    const __m512 x = _mm512_set1_ps(left[i % rows * BLOCK + 2 * pair + i / rows]);
    sums[i % rows][0] = _mm512_fmadd_ps(x, numbers[0][i / rows], sums[i % rows][0]);
    sums[i % rows][1] = _mm512_fmadd_ps(x, numbers[1][i / rows], sums[i % rows][1]);
  }
}

/** Adds the product of some rows and blocks of this size to sums: [rows, BLOCK]. */
static inline __attribute__((always_inline)) void add_rows(const float *left, const Packed *right, const int64_t size, int64_t depth, const int rows,
                                                           float *into) {
  __m512 sums[MOST_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = _mm512_load_ps(into + 16 * i);
  for (; depth > 0; depth -= BLOCK, left += BLOCK * BLOCK, right += size)
    for (int64_t pair = 0, pairs = ceiling(least(BLOCK, depth), 2); pair < pairs; pair++) add_pair(left, right, size, pair, rows, sums);
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) _mm512_store_ps(into + 16 * i, sums[i / 2][i % 2]);
}

static inline __attribute__((always_inline)) void add_product_of(Factors f, const int64_t size, int64_t rows, float *sums) {
  for (int64_t start = 0; start < f.depth; start += SPAN) {
    const float *left = (const float *)(f.left + start / BLOCK * WHOLE_BLOCK);
    const Packed *right = f.right + start / BLOCK * size;
    const int64_t depth = least(SPAN, f.depth - start);
    for (int64_t row = 0; row < rows; row += MOST_ROWS)
      if (rows - row > FEWER_ROWS) add_rows(left + row * BLOCK, right, size, depth, MOST_ROWS, sums + row * BLOCK);
      else add_rows(left + row * BLOCK, right, size, depth, FEWER_ROWS, sums + row * BLOCK);
  }
}

static void add_product(Factors f, int64_t rows, int64_t columns, float *sums) { // a loop for each size, always over 32 columns
  if (f.left_size == COARSE_BLOCK) add_coarse_product(f, rows, sums);
  else if (f.left_size == ROUNDED_BLOCK) add_rounded_product(f, rows, sums);
  else if (f.right_size == HIGH_BLOCK) add_product_of(f, HIGH_BLOCK, rows, sums);
  else add_product_of(f, WHOLE_BLOCK, rows, sums);
}
