// Operands rounded to integers of 13 bits, which vector units multiply faster than float32 numbers: with AVX2 about 1.6 times, with AVX-512 twice.
//
// Of each row or column, as many numbers as a span is deep share a scale: the largest becomes ±4095, so that sums over a span fit into 32 bits. That
// is an error of 1e-4 of the largest; rounding to bfloat16 is one of 2e-3 of each number.
//
// A packed block has the rows of a left operand, one after another, 32 integers of each, or two halves of 16 columns of a right one, each with two
// integers of a column, then two of the next one. In the first block of a span the scales come after them.
#pragma once

#include <float.h>
#include <math.h>
#include "unit-functions.h"
#include "vectors.h"

enum {
  MOST_INTEGER = 4095,
  ROUNDED_BLOCK = HIGH_BLOCK + 2 * BLOCK, // integers of 16 bits, and scales of 32
  PAIRS = SPAN / 2,
};

static inline float *scales_of_span(const Packed *span) { return (float *)(span + HIGH_BLOCK); }

/** The factors by which numbers become integers, the largest of them (see `max_abs`) ± the most, and the scales that undo this, times a factor. */
static inline Vector integer_factors(float most, Ints largest, float factor, float *scales) {
  const Vector size = as_floats(largest);
  const Mask usual = ge(size, broadcast(most * FLT_MIN)), finite = ge(broadcast(FLT_MAX), size);
  store(scales, blend(finite, masked(usual, mul(size, broadcast(factor / most))), broadcast(NAN)));
  return masked(usual, divide(broadcast(most), size));
}

/** The factors of 16 rows or columns that are side by side in memory. */
static inline Vector factors_across(const float *from, int64_t stride, int64_t width, int64_t depth, float most, float factor, float *scales) {
  Ints largest = broadcast_ints(0);
  for (int64_t k = 0; k < depth; k++) largest = max_abs(largest, load_first(width, from + k * stride));
  return integer_factors(most, largest, factor, scales);
}

/** Those of rows or columns that are in memory one after another. */
static inline Vector factors_along(const float *from, int64_t stride, int64_t width, int64_t depth, float most, float factor, float *scales) {
  float sizes[16] = {0};
  for (int64_t line = 0; line < least(16, width); line++) {
    Ints largest = broadcast_ints(0);
    for (int64_t i = 0; i < depth; i += 16) largest = max_abs(largest, load_first(depth - i, from + line * stride + i));
    sizes[line] = first_lane(as_floats(broadcast_ints(hmax_ints(largest))));
  }
  return integer_factors(most, as_ints(load(sizes)), factor, scales);
}

static inline Ints pair_up(Ints even, Ints odd) { return bits_or(bits_and(even, broadcast_ints(0xffff)), shift_left(odd, 16)); }

/** Rounds a span of 16 rows or columns that are side by side in memory. Pairs get two integers of each, for each two places in depth. */
static inline void round_across(const float *from, int64_t stride, int64_t width, int64_t depth, float factor, float *scales, Ints pairs[PAIRS]) {
  const Vector factors = factors_across(from, stride, width, depth, MOST_INTEGER, factor, scales);
  for (int64_t k = 0; k < ceiling(depth, BLOCK) * BLOCK; k += 2) {
    Ints integers[2];
    for (int64_t i = 0; i < 2; i++) integers[i] = round_to_ints(mul(factors, load_first(k + i < depth ? width : 0, from + (k + i) * stride)));
    pairs[k / 2] = pair_up(integers[0], integers[1]);
  }
}

/** The same for rows or columns that are in memory one after another. There are 16 pairs of the first one, for a block, then of the next one. */
static inline void round_along(const float *from, int64_t stride, int64_t width, int64_t depth, float factor, float *scales, Ints pairs[PAIRS]) {
  const int64_t vectors = ceiling(depth, BLOCK) * 2;
  float factors[16];
  store(factors, factors_along(from, stride, width, depth, MOST_INTEGER, factor, scales));
  for (int64_t line = 0; line < least(16, width); line++)
    for (int64_t i = 0; i < vectors; i++) {
      const Vector numbers = load_first(depth - 16 * i, from + line * stride + 16 * i);
      store_words((int16_t *)(pairs + i / 2 * 16 + line) + 16 * (i % 2), round_to_ints(mul(broadcast(factors[line]), numbers)));
    }
}

static inline void pack_rounded(const float *from, int64_t stride, int along, int is_right, int64_t width, int64_t depth, float factor,
                                Packed *into) {
  for (int64_t half = 0; half < 2 && 16 * half < width; half++) {
    Ints pairs[PAIRS];
    float *scales = scales_of_span(into) + 16 * half;
    if (along) round_along(from + 16 * half * stride, stride, width - 16 * half, depth, factor, scales, pairs);
    else round_across(from + 16 * half, stride, width - 16 * half, depth, factor, scales, pairs);
    for (int64_t block = 0; BLOCK * block < depth; block++) {
      if (along == is_right) transpose(pairs + 16 * block);
      for (int64_t i = 0; i < 16; i++)
        store((float *)(into + block * ROUNDED_BLOCK + half * HIGH_BLOCK / 2 + 32 * i), as_floats(pairs[16 * block + i]));
    }
  }
}
