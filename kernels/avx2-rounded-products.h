// Products of operands that are rounded to integers, which AVX2 multiplies about 1.6 times as fast as float32 numbers.
//
// Of each row or column, as many numbers as a span is deep share a scale: the largest becomes ±4095, so that sums over a span fit into 32 bits. That
// is an error of 1e-4 of the largest; rounding to bfloat16 is one of 2e-3 of each number.
//
// A packed block has the rows of a left operand, one after another, 32 integers of each, or two halves of 16 columns of a right one, each with two
// integers of a column, then two of the next one. In the first block of a span the scales come after them.
#pragma once

#include <float.h>
#include <math.h>
#include "avx2-tiles.h"
#include "unit.h"
#include "vectors.h"

enum {
  MOST_INTEGER = 4095,
  ROUNDED_BLOCK = HIGH_BLOCK + 2 * BLOCK, // integers of 16 bits, and scales of 32
  PAIRS = SPAN / 2,
};

static inline float *scales_of_span(const Packed *span) { return (float *)(span + HIGH_BLOCK); }

/** By what numbers become integers, the largest of them (see `larger_size`) ±4095, and by what, then, numbers times a factor again (`scales`). */
static inline Vector integer_factors(Wholes largest, float factor, float *scales) {
  const Vector most = as_numbers(largest);
  const Mask usual = at_least(most, all(MOST_INTEGER * FLT_MIN)), finite = at_least(all(FLT_MAX), most);
  store(scales, choose(finite, only(usual, times(most, all(factor / MOST_INTEGER))), all(NAN)));
  return only(usual, over(all(MOST_INTEGER), most));
}

static inline Wholes pair_up(Wholes even, Wholes odd) { return bits_or(bits_and(even, all_wholes(0xffff)), shifted_left(odd, 16)); }

/** Rounds a span of 16 rows or columns that are side by side in memory. Pairs get two integers of each, for each two places in depth. */
static inline void round_across(const float *from, long stride, long width, long depth, float factor, float *scales, Wholes pairs[PAIRS]) {
  Wholes largest = all_wholes(0);
  for (long k = 0; k < depth; k++) largest = larger_size(largest, load_first(width, from + k * stride));
  const Vector factors = integer_factors(largest, factor, scales);
  for (long k = 0; k < ceiling(depth, BLOCK) * BLOCK; k += 2) {
    Wholes integers[2];
    for (long i = 0; i < 2; i++) integers[i] = nearest_wholes(times(factors, load_first(k + i < depth ? width : 0, from + (k + i) * stride)));
    pairs[k / 2] = pair_up(integers[0], integers[1]);
  }
}

/** The same for rows or columns that are in memory one after another. There are 16 pairs of the first one, for a block, then of the next one. */
static inline void round_along(const float *from, long stride, long width, long depth, float factor, float *scales, Wholes pairs[PAIRS]) {
  const long vectors = ceiling(depth, BLOCK) * 2;
  float largest[16] = {0}, factors[16];
  for (long line = 0; line < least(16, width); line++) {
    Wholes most = all_wholes(0);
    for (long i = 0; i < vectors; i++) most = larger_size(most, load_first(depth - 16 * i, from + line * stride + 16 * i));
    largest[line] = first_of(as_numbers(all_wholes(most_of_wholes(most))));
  }
  store(factors, integer_factors(as_wholes(load(largest)), factor, scales));
  for (long line = 0; line < least(16, width); line++)
    for (long i = 0; i < vectors; i++) {
      const Vector numbers = load_first(depth - 16 * i, from + line * stride + 16 * i);
      store_words((int16_t *)(pairs + i / 2 * 16 + line) + 16 * (i % 2), nearest_wholes(times(all(factors[line]), numbers)));
    }
}

static inline void pack_rounded(const float *from, long stride, int along, int is_right, long width, long depth, float factor, Packed *into) {
  for (long half = 0; half < 2 && 16 * half < width; half++) {
    Wholes pairs[PAIRS];
    float *scales = scales_of_span(into) + 16 * half;
    if (along) round_along(from + 16 * half * stride, stride, width - 16 * half, depth, factor, scales, pairs);
    else round_across(from + 16 * half, stride, width - 16 * half, depth, factor, scales, pairs);
    for (long block = 0; BLOCK * block < depth; block++) {
      if (along == is_right) transpose(pairs + 16 * block);
      for (long i = 0; i < 16; i++) store((float *)(into + block * ROUNDED_BLOCK + half * HIGH_BLOCK / 2 + 32 * i), as_numbers(pairs[16 * block + i]));
    }
  }
}

/** Adds products of a row's pair and those of 16 columns. With intrinsics, compilers copy sums from register to register. */
static inline __attribute__((always_inline)) void add_pairs(const int32_t *left, __m256i lower, __m256i upper, __m256i sums[2]) {
  __m256i two, products;
  __asm__("vpbroadcastd %4, %2\n\tvpmaddwd %2, %5, %3\n\tvpaddd %3, %0, %0\n\tvpmaddwd %2, %6, %2\n\tvpaddd %2, %1, %1"
          : "+x"(sums[0]), "+x"(sums[1]), "=&x"(two), "=&x"(products)
          : "m"(*left), "x"(lower), "x"(upper));
}

/** Adds the product of some rows and 16 columns, as deep as a span at most, to sums: [rows, BLOCK]. */
static inline __attribute__((always_inline)) void add_rounded_rows(const Packed *left, const float *row_scales, const Packed *right, const float *column_scales,
                                                                   long depth, const int rows, float *into) {
  __m256i sums[MOST_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = _mm256_setzero_si256();
  for (; depth > 0; depth -= BLOCK, left += ROUNDED_BLOCK, right += ROUNDED_BLOCK)
    for (long pair = 0; pair < BLOCK / 2; pair++) {
      const __m256i *place = (const __m256i *)(right + 32 * pair);
      const __m256i lower = _mm256_load_si256(place), upper = _mm256_load_si256(place + 1);
      UNROLLED
      for (int row = 0; row < rows; row++) add_pairs((const int32_t *)(left + row * BLOCK) + pair, lower, upper, sums[row]);
    }
  const Vector scales = load(column_scales);
  UNROLLED
  for (int row = 0; row < rows; row++) {
    const Vector product = times(all(row_scales[row]), from_wholes((Wholes){sums[row][0], sums[row][1]}));
    store(into + row * BLOCK, times_plus(product, scales, load(into + row * BLOCK)));
  }
}

static void add_rounded_product(Factors f, long rows, long columns, float *sums) {
  for (long start = 0; start < f.depth; start += SPAN) {
    const Packed *left = f.left + start / BLOCK * ROUNDED_BLOCK, *right = f.right + start / BLOCK * ROUNDED_BLOCK;
    const long depth = least(SPAN, f.depth - start);
    for (long half = 0; 16 * half < columns; half++) {
      const Packed *numbers = right + half * HIGH_BLOCK / 2;
      const float *row_scales = scales_of_span(left), *column_scales = scales_of_span(right) + 16 * half;
      for (long row = 0, count; row < rows; row += count) {
        count = next_rows(rows - row);
        float *into = sums + row * BLOCK + 16 * half;
        if (count == MOST_ROWS) add_rounded_rows(left + row * BLOCK, row_scales + row, numbers, column_scales, depth, MOST_ROWS, into);
        else add_rounded_rows(left + row * BLOCK, row_scales + row, numbers, column_scales, depth, FEWER_ROWS, into);
      }
    }
  }
}
