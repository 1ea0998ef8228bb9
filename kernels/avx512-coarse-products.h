// Products of operands rounded to integers of 8 bits, for gradients: the unit multiplies twice as many of them as of 16 bits (AVX-512 VNNI).
//
// Of each row or column, the largest of 64 numbers becomes ±127. A packed block has 32 bytes of each row of a left operand, or two halves of 16 columns of a
// right one, each with four bytes of a column, then four of the next one. In every second block the scales come after them, and of a right operand
// −128 · Σ of each column: the unit multiplies unsigned integers with signed ones, so 128 is added to those of the left operand.
#pragma once

#include "avx512-rounded-products.h"

enum {
  COARSE_SPAN = 2 * BLOCK,
  MOST_BYTE = 127,
  COARSE_BLOCK = HIGH_BLOCK / 2 + 4 * BLOCK, // bytes, two in each; scales and sums of 32 bits
  FOURS = COARSE_SPAN / 4,
};

static inline float *coarse_scales(const Packed *span) { return (float *)(span + HIGH_BLOCK / 2); }
static inline int32_t *column_offsets(const Packed *span) { return (int32_t *)(span + HIGH_BLOCK / 2 + 2 * BLOCK); }

/** Rounds a span of 16 rows or columns that are side by side in memory. `fours` get four integers of each, for each four places in depth. */
static inline Ints bytes_across(const float *from, int64_t stride, int64_t width, int64_t depth, float factor, float *scales, Ints fours[FOURS]) {
  const Vector factors = factors_across(from, stride, width, depth, MOST_BYTE, factor, scales);
  Ints sums = broadcast_ints(0);
  for (int64_t four = 0; four < FOURS; four++) {
    fours[four] = broadcast_ints(0);
    for (int i = 0; i < 4; i++) {
      const int64_t k = 4 * four + i;
      const Ints whole = round_to_ints(mul(factors, load_first(k < depth ? width : 0, from + k * stride)));
      sums = add_ints(sums, whole);
      fours[four] = bits_or(fours[four], shift_left(bits_and(whole, broadcast_ints(0xff)), 8 * i));
    }
  }
  return sums;
}

/** The same for rows or columns that are in memory one after another: all `fours` of the first one, then of the next one. Returns sums of integers too. */
static inline Ints bytes_along(const float *from, int64_t stride, int64_t width, int64_t depth, float factor, float *scales, Ints lines[16]) {
  float factors[16];
  int32_t sums[16] = {0};
  store(factors, factors_along(from, stride, width, depth, MOST_BYTE, factor, scales));
  for (int64_t line = 0; line < least(16, width); line++) {
    Ints sum = broadcast_ints(0);
    for (int64_t i = 0; i < COARSE_SPAN; i += 16) {
      const Ints whole = round_to_ints(mul(broadcast(factors[line]), load_first(depth - i, from + line * stride + i)));
      sum = add_ints(sum, whole);
      store_lowest_bytes((uint8_t *)(lines + line) + i, whole);
    }
    sums[line] = hsum_ints(sum);
  }
  return as_ints(load((const float *)sums));
}

/** 16 rows of a span, from the first of them in its first block on. */
static inline void put_rows(const Ints rows[16], int64_t depth, Packed *into) {
  for (int64_t i = 0; i < 16; i++) {
    const __m512i bytes = bits_xor(rows[i], _mm512_set1_epi8(-128));
    _mm256_store_si256((__m256i *)(into + i * BLOCK / 2), _mm512_castsi512_si256(bytes));
    if (depth > BLOCK) _mm256_store_si256((__m256i *)(into + COARSE_BLOCK + i * BLOCK / 2), _mm512_extracti64x4_epi64(bytes, 1));
  }
}

/** 16 columns of a span, from the half of its first block on. */
static inline void put_columns(const Ints fours[FOURS], int64_t depth, Packed *into) {
  for (int64_t i = 0; 4 * i < depth; i++) store((float *)(into + 4 * i / BLOCK * COARSE_BLOCK + 4 * i % BLOCK * 8), as_floats(fours[i]));
}

static inline void pack_coarse_span(const float *from, int64_t stride, int along, int is_right, int64_t width, int64_t depth, float factor,
                                    Packed *into) {
  for (int64_t half = 0; half < 2 && 16 * half < width; half++) {
    Ints fours[FOURS], sums;
    float *scales = coarse_scales(into) + 16 * half;
    if (along) sums = bytes_along(from + 16 * half * stride, stride, width - 16 * half, depth, factor, scales, fours);
    else sums = bytes_across(from + 16 * half, stride, width - 16 * half, depth, factor, scales, fours);
    if (along == is_right) transpose(fours);
    if (!is_right) put_rows(fours, depth, into + half * HIGH_BLOCK / 4);
    else {
      put_columns(fours, depth, into + half * HIGH_BLOCK / 4);
      store((float *)(column_offsets(into) + 16 * half), as_floats(sub_ints(broadcast_ints(0), shift_left(sums, 7))));
    }
  }
}

static inline void pack_coarse(const float *from, int64_t stride, int along, int is_right, int64_t width, int64_t depth, float factor, Packed *into) {
  for (int64_t k = 0; k < depth; k += COARSE_SPAN)
    pack_coarse_span(from + (along ? k : k * stride), stride, along, is_right, width, least(COARSE_SPAN, depth - k), factor,
                     into + k / BLOCK * COARSE_BLOCK);
}

/** Adds products of four integers of a row and of 32 columns. With intrinsics, compilers copy sums between registers. */
static inline __attribute__((always_inline)) void add_fours(const int32_t *left, const __m512i columns[2], __m512i sums[2]) {
  const __m512i four = _mm512_set1_epi32(*left);
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sums[0]) : "v"(four), "v"(columns[0]));
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sums[1]) : "v"(four), "v"(columns[1]));
}

/** Adds the product of some rows and 32 columns, as deep as a span at most, to sums: [rows, BLOCK]. */
static inline __attribute__((always_inline)) void add_coarse_rows(const Packed *left, const float *row_scales, const Packed *right, int64_t depth,
                                                                  const int rows, float *into) {
  const float *column_scales = coarse_scales(right);
  const int32_t *offsets = column_offsets(right);
  __m512i sums[MOST_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = _mm512_load_si512(offsets + i % 2 * 16);
  for (; depth > 0; depth -= BLOCK, left += COARSE_BLOCK, right += COARSE_BLOCK)
    for (int64_t four = 0, fours = ceiling(least(BLOCK, depth), 4); four < fours; four++) {
      const Packed *place = right + 32 * four;
      const __m512i columns[2] = {_mm512_load_si512(place), _mm512_load_si512(place + HIGH_BLOCK / 4)};
      for (int half = 0; half < 2; half++) _mm_prefetch((const char *)(place + half * HIGH_BLOCK / 4) + AHEAD, _MM_HINT_T0);
      UNROLLED
      for (int row = 0; row < rows; row++) add_fours((const int32_t *)(left + row * BLOCK / 2) + four, columns, sums[row]);
    }
  add_scaled_sums(sums, row_scales, column_scales, rows, into);
}

static void add_coarse_product(Factors f, int64_t rows, float *sums) {
  for (int64_t start = 0; start < f.depth; start += COARSE_SPAN) {
    const Packed *left = f.left + start / BLOCK * COARSE_BLOCK, *right = f.right + start / BLOCK * COARSE_BLOCK;
    const float *row_scales = coarse_scales(left);
    const int64_t depth = least(COARSE_SPAN, f.depth - start);
    for (int64_t row = 0; row < rows; row += MOST_ROWS) {
      const Packed *these = left + row * BLOCK / 2;
      if (rows - row > FEWER_ROWS) add_coarse_rows(these, row_scales + row, right, depth, MOST_ROWS, sums + row * BLOCK);
      else add_coarse_rows(these, row_scales + row, right, depth, FEWER_ROWS, sums + row * BLOCK);
    }
  }
}
