// Products on the vector unit of processors without AVX-512, in float32. Those of rounded operands are avx2-rounded-products.h's and
// neon-rounded-products.h's; where there is no instruction for these, rounding gains nothing, so that nothing is rounded.
//
// A packed block of a left operand has its rows, one after another, 32 numbers of each. One of a right operand has two halves of 16 columns. A half has
// its columns side by side for each place in depth, or, where they are bfloat16 numbers, two numbers of a column, then two of the next one.
#pragma once

#include "unit-functions.h"
#ifdef __AVX2__
#include "avx2-multipliers.h"
#else
#include "quarter-multipliers.h"
#include "quarter-squares.h"
#endif

enum { TWO_BLOCKS = 8192 }; // bytes ahead of what is read that are prefetched

/** 16 rows of 16 numbers, or their transpose; numbers beyond `rows` and `columns` are 0. */
static inline void read_square(const float *from, int64_t stride, int64_t rows, int64_t columns, int transposed, float factor, Vector into[16]) {
  for (int64_t row = 0; row < 16; row++) into[row] = row < rows ? mul(broadcast(factor), load_first(columns, from + row * stride)) : broadcast(0);
  if (transposed) transpose((Ints *)into);
}

#if defined __AVX2__
#include "avx2-rounded-products.h"
#elif defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#include "neon-rounded-products.h"
#else
enum { ROUNDED_BLOCK = WHOLE_BLOCK, COARSE_BLOCK = WHOLE_BLOCK, COARSE_SPAN = BLOCK };
#endif

/** Rounds to bfloat16, as bits in the upper halves. NaN stays NaN. */
static inline Ints round_upper(Vector x) {
  const Ints bits = as_ints(x), even = bits_and(shift_right(bits, 16), broadcast_ints(1));
  const Ints rounded = add_ints(bits, add_ints(even, broadcast_ints(0x7fff)));
  const Vector none = as_floats(bits_or(bits, broadcast_ints(0x400000)));
  return bits_and(as_ints(blend(is_nan(x), none, as_floats(rounded))), broadcast_ints((int32_t)0xffff0000));
}

static inline void pack_block(const float *from, int64_t stride, int along, int is_right, int64_t size, int64_t width, int64_t depth, float factor,
                              Packed *into) {
  for (int64_t half = 0; half < 2 && 16 * half < width; half++)
    for (int64_t part = 0; part < 2; part++) {
      Vector square[16];
      const int64_t across = width - 16 * half, deep = depth - 16 * part;
#ifndef __AVX2__
      if (!is_right || size == WHOLE_BLOCK) {
        float *place = (float *)into + (is_right ? half * HIGH_BLOCK / 2 + part * 16 * 16 : half * 16 * BLOCK + part * 16);
        const Square square = along ? (Square){from + 16 * half * stride + 16 * part, stride, across, deep, factor}
                                    : (Square){from + 16 * part * stride + 16 * half, stride, deep, across, factor};
        copy_square(square, along == is_right, place, is_right ? 16 : BLOCK);
        continue;
      }
#endif
      if (along) read_square(from + 16 * half * stride + 16 * part, stride, across, deep, is_right, factor, square);
      else read_square(from + 16 * part * stride + 16 * half, stride, deep, across, !is_right, factor, square);
      if (!is_right) {
        float *place = (float *)into + half * 16 * BLOCK + part * 16;
        for (int i = 0; i < 16; i++) store(place + i * BLOCK, square[i]);
      } else if (size == WHOLE_BLOCK) {
        float *place = (float *)into + half * HIGH_BLOCK / 2 + part * 16 * 16;
        for (int i = 0; i < 16; i++) store(place + i * 16, square[i]);
      } else {
        Packed *place = into + half * HIGH_BLOCK / 2 + part * 16 * 16;
        for (int i = 0; i < 16; i += 2)
          store((float *)(place + i * 16), as_floats(bits_or(shift_right(round_upper(square[i]), 16), round_upper(square[i + 1]))));
      }
    }
}

static inline void pack(const float *from, int64_t stride, int along, int is_right, int64_t size, int64_t width, int64_t depth, float factor,
                        Packed *into) {
#ifdef ROUNDS
  if (size == ROUNDED_BLOCK) return pack_rounded(from, stride, along, is_right, width, least(SPAN, depth), factor, into);
#endif
  for (int64_t k = 0; k < least(SPAN, depth); k += BLOCK, into += size)
    pack_block(from + (along ? k : k * stride), stride, along, is_right, size, width, depth - k, factor, into);
}

/** The even and the odd ones of 16 pairs of bfloat16 numbers. */
static inline void widen_pairs(const Packed *pairs, Vector into[2]) {
  const Ints bits = as_ints(load((const float *)pairs));
  into[0] = as_floats(shift_left(bits, 16));
  into[1] = as_floats(bits_and(bits, broadcast_ints((int32_t)0xffff0000)));
}

/** Numbers of 16 columns of a packed block of a right operand at depths `2 * pair` and `2 * pair + 1`. */
static inline __attribute__((always_inline)) void read_pair(const Packed *block, const int64_t size, int64_t half, int64_t pair, Vector into[2]) {
  const Packed *place = block + half * size / 2 + pair * size / BLOCK;
  __builtin_prefetch((const char *)place + AHEAD, 0, 3);
  if (size == HIGH_BLOCK) return widen_pairs(place, into);
  for (int i = 0; i < 2; i++) into[i] = load((const float *)place + 16 * i);
}

/** Where 16 columns of some blocks are: as they are packed, or as float32 numbers. */
typedef struct {
  const float *numbers;
  int64_t stride; // from block to block
} Columns;

static inline Columns columns_of(const Packed *right, int64_t size, int64_t half, int64_t depth, float *widened) {
  right += half * size / 2;
  if (size == WHOLE_BLOCK) return (Columns){(const float *)right, BLOCK * BLOCK};
  for (int64_t k = 0; k < depth; k += BLOCK, right += HIGH_BLOCK)
    for (int64_t pair = 0; pair < BLOCK / 2; pair++) {
      Vector numbers[2];
      widen_pairs(right + pair * 32, numbers);
      for (int i = 0; i < 2; i++) store(widened + (k + 2 * pair + i) * 16, numbers[i]);
    }
  return (Columns){widened, BLOCK * 16};
}

/** Adds products of some rows and 16 columns at some places in depth. */
static inline __attribute__((always_inline)) void add_places(const float *left, const float *right, const int rows, Vector sums[MOST_ROWS]) {
  Multipliers x[MOST_ROWS];
  UNROLLED
  for (int row = 0; row < rows; row++) x[row] = multipliers_at(left + row * BLOCK);
  UNROLLED
  for (int place = 0; place < PLACES; place++) {
    PREFETCH_COLUMNS((const char *)(right + 16 * place) + TWO_BLOCKS);
    const Vector numbers = load(right + 16 * place);
    UNROLLED
    for (int row = 0; row < rows; row++) sums[row] = add_multiple(sums[row], numbers, x[row], place);
  }
}

/** Adds the product of some rows and 16 columns, so deep, to sums: [rows, BLOCK]. Beyond the depth there are zeros up to a whole block. */
static inline __attribute__((always_inline)) void add_rows(const float *left, Columns right, int64_t depth, const int rows, float *into) {
  Vector sums[MOST_ROWS];
  UNROLLED
  for (int row = 0; row < rows; row++) sums[row] = load(into + row * BLOCK);
  for (; depth > 0; depth -= BLOCK, left += BLOCK * BLOCK, right.numbers += right.stride)
    if (HAS_LONG_LOOPS && depth >= BLOCK) {
      UNROLLED_TWICE
      for (int64_t k = 0; k < BLOCK; k += PLACES) add_places(left + k, right.numbers + 16 * k, rows, sums);
    } else {
      UNROLLED_TWICE
      for (int64_t k = 0; k < least(BLOCK, depth); k += PLACES) add_places(left + k, right.numbers + 16 * k, rows, sums);
    }
  UNROLLED
  for (int row = 0; row < rows; row++) store(into + row * BLOCK, sums[row]);
}

static void add_product(Factors f, int64_t rows, int64_t columns, float *sums) {
#ifdef ROUNDS
  if (f.left_size == ROUNDED_BLOCK) return add_rounded_product(f, rows, columns, sums);
#endif
  float widened[SPAN * 16] __attribute__((aligned(64)));
  for (int64_t start = 0; start < f.depth; start += SPAN) {
    const int64_t depth = least(SPAN, f.depth - start);
    const float *left = (const float *)(f.left + start / BLOCK * WHOLE_BLOCK);
    for (int64_t half = 0; 16 * half < columns; half++) {
      const Columns right = columns_of(f.right + start / BLOCK * f.right_size, f.right_size, half, depth, widened);
      for (int64_t row = 0, count; row < rows; row += count) {
        count = next_rows(rows - row);
        if (count == MOST_ROWS) add_rows(left + row * BLOCK, right, depth, MOST_ROWS, sums + row * BLOCK + 16 * half);
        else add_rows(left + row * BLOCK, right, depth, FEWER_ROWS, sums + row * BLOCK + 16 * half);
      }
    }
  }
}
