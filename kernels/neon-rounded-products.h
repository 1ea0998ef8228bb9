// Products of operands that are rounded to bfloat16, by instructions that multiply 2 × 4 such numbers with 4 × 2 (NEON with bf16): sums are float32.
//
// A packed block has its rows, or columns, in pairs: for each four places in depth four numbers of the first row and four of the second one, then those
// of the next pair.
#pragma once

#include "quarter-multipliers.h"

#define ROUNDS

/** Larger than the numbers need, because the size tells how a block is laid out. */
enum { ROUNDED_BLOCK = HIGH_BLOCK + BLOCK, COARSE_BLOCK = ROUNDED_BLOCK, COARSE_SPAN = BLOCK };

static inline void store_rounded_pair(Packed *into, Four first, Four second) {
  vst1q_bf16((bfloat16_t *)into, vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(first), second));
}

static inline void pack_rounded(const float *from, int64_t stride, int along, int is_right, int64_t width, int64_t depth, float factor,
                                Packed *into) {
  for (int64_t k = 0; k < depth; k += 16)
    for (int64_t half = 0; half < 2 && 16 * half < width; half++) {
      Vector square[16];
      if (along) read_square(from + 16 * half * stride + k, stride, width - 16 * half, depth - k, 0, factor, square);
      else read_square(from + k * stride + 16 * half, stride, depth - k, width - 16 * half, 1, factor, square);
      Packed *place = into + k / BLOCK * ROUNDED_BLOCK + k % BLOCK * BLOCK + half * 64;
      UNROLLED
      for (int i = 0; i < 8; i++) {
        store_rounded_pair(place + 8 * i, square[2 * i].a, square[2 * i + 1].a);
        store_rounded_pair(place + 4 * BLOCK + 8 * i, square[2 * i].b, square[2 * i + 1].b);
        store_rounded_pair(place + 8 * BLOCK + 8 * i, square[2 * i].c, square[2 * i + 1].c);
        store_rounded_pair(place + 12 * BLOCK + 8 * i, square[2 * i].d, square[2 * i + 1].d);
      }
      // What is multiplied at once is four deep, but a block ends where both of its halves do.
      if (depth - k <= 16 && k % BLOCK == 0)
        for (int i = 0; i < 4; i++) memset(place + (16 + 4 * i) * BLOCK, 0, 64 * sizeof *place);
    }
}

/** The same as the intrinsic, with which compilers copy sums between registers. */
static inline __attribute__((always_inline)) void add_square(Four *sum, bfloat16x8_t left, bfloat16x8_t right) {
  __asm__ volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(*sum) : "w"(left), "w"(right));
}

/** Adds the product of 8 rows and 8 columns to sums: [rows, BLOCK]. */
static inline void add_rounded_square(const Packed *left, const Packed *right, int64_t depth, float *into) {
  Four sums[4][4];
  UNROLLED
  for (int i = 0; i < 16; i++) sums[i / 4][i % 4] = (Four){0, 0, 0, 0};
  for (; depth > 0; depth -= BLOCK, left += ROUNDED_BLOCK, right += ROUNDED_BLOCK)
    for (int64_t k = 0; k < least(BLOCK, depth); k += 4) {
      bfloat16x8_t rows[4], columns[4];
      UNROLLED
      for (int i = 0; i < 4; i++) {
        rows[i] = vld1q_bf16((const bfloat16_t *)left + k * BLOCK + 8 * i);
        columns[i] = vld1q_bf16((const bfloat16_t *)right + k * BLOCK + 8 * i);
      }
      UNROLLED
      for (int i = 0; i < 16; i++) add_square(&sums[i / 4][i % 4], rows[i / 4], columns[i % 4]);
    }
  UNROLLED
  for (int i = 0; i < 8; i++) {
    float *place = into + i / 2 * 2 * BLOCK + i % 2 * 4;
    const FourInts first = (FourInts)sums[i / 2][i % 2 * 2], second = (FourInts)sums[i / 2][i % 2 * 2 + 1];
    vst1q_f32(place, vld1q_f32(place) + (Four)SHUFFLED(first, second, 0, 1, 4, 5));
    vst1q_f32(place + BLOCK, vld1q_f32(place + BLOCK) + (Four)SHUFFLED(first, second, 2, 3, 6, 7));
  }
}

static void add_rounded_product(Factors f, int64_t rows, int64_t columns, float *sums) {
  for (int64_t start = 0; start < f.depth; start += SPAN) {
    const Packed *left = f.left + start / BLOCK * ROUNDED_BLOCK, *right = f.right + start / BLOCK * ROUNDED_BLOCK;
    for (int64_t column = 0; column < columns; column += 8)
      for (int64_t row = 0; row < rows; row += 8)
        add_rounded_square(left + 4 * row, right + 4 * column, least(SPAN, f.depth - start), sums + row * BLOCK + column);
  }
}
