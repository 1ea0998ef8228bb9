// Operands rounded to integers, by 64 numbers in depth, which share a scale.
#pragma once

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include "packing.h"

/** 32 columns of a right operand, 64 numbers of each: two tiles of integers of 8 bits, and a scale for each column. */
typedef struct RoundedBlock {
  int8_t tiles[2][2 * TILE];
  float scales[BLOCK];
} __attribute__((aligned(64))) RoundedBlock;

/** 8 rows of a left operand, 64 numbers of each: integers of 16 bits, 256 · high + low. Of each row the high parts, then the low ones. */
typedef struct {
  int8_t tile[2 * TILE];
  float scales[8];
} __attribute__((aligned(64))) RoundedRows;

enum {
  SHARING = 64,       // numbers that share a scale: the depth of a tile
  LEVELS = 127,       // the largest of them becomes ±127,
  ROW_LEVELS = 32639, // or in rows ±(256 · 127 + 127)
};

/** Reads 64 numbers of each of 32 columns of a right operand; beyond its edges are zeros. */
static void read_columns_of(const Product *p, long start, long first, float into[BLOCK][SHARING]) {
  memset(into, 0, BLOCK * SHARING * sizeof(float));
  const long columns = least(BLOCK, p->columns - first);
  float decoded[BLOCK * BLOCK];
  for (long part = 0; part < SHARING && start + part < p->depth; part += BLOCK) {
    const long from = start + part, depth = least(BLOCK, p->depth - from);
    const Matrix block = p->right_transposed ? block_of(p->right, first, from, columns, decoded) : block_of(p->right, from, first, depth, decoded);
    const long along = p->right_transposed ? 1 : block.stride, across = p->right_transposed ? block.stride : 1;
    for (long column = 0; column < columns; column++)
      for (long k = 0; k < depth; k++) into[column][part + k] = ((const float *)block.numbers)[column * across + k * along];
  }
}

/** Rounds a column of a block. A row of a tile has four numbers of each of 16 columns. */
static void round_column(const float numbers[SHARING], long column, RoundedBlock *into) {
  float largest = 0;
  for (long k = 0; k < SHARING; k++) largest = fmaxf(largest, fabsf(numbers[k]));
  const float inverse = largest > 0 ? LEVELS / largest : 0;
  into->scales[column] = largest / LEVELS;
  for (long k = 0; k < SHARING; k++) into->tiles[column / 16][k / 4 * 64 + column % 16 * 4 + k % 4] = (int8_t)lrintf(numbers[k] * inverse);
}

/** Rounds the right operand of a product into new memory, panel by panel, which the caller frees. Returns null if there is none. */
static RoundedBlock *round_panels(const Product *p) {
  const long panels = ceiling(p->columns, BLOCK), groups = ceiling(p->depth, SHARING);
  RoundedBlock *rounded = aligned_alloc(64, panels * groups * sizeof *rounded), *into = rounded;
  float numbers[BLOCK][SHARING];
  for (long panel = 0; rounded && panel < panels; panel++)
    for (long group = 0; group < groups; group++, into++) {
      read_columns_of(p, group * SHARING, panel * BLOCK, numbers);
      for (long column = 0; column < BLOCK; column++) round_column(numbers[column], column, into);
    }
  return rounded;
}

/** Rounds 64 numbers of a row and returns their scale, which is not a number if one of them is infinite or not a number. */
static inline float round_numbers(const __m512 numbers[4], int8_t *high, int8_t *low) {
  // As bits, positive numbers have the same order, and after them come infinity and what is not a number.
  __m512i largest = _mm512_setzero_si512();
  for (int i = 0; i < 4; i++) largest = _mm512_max_epi32(largest, _mm512_castps_si512(_mm512_abs_ps(numbers[i])));
  const float most = _mm512_cvtss_f32(_mm512_castsi512_ps(_mm512_set1_epi32(_mm512_reduce_max_epi32(largest))));
  const int vanishing = most < ROW_LEVELS * FLT_MIN; // the scale would be less than the smallest normal number
  const __m512 inverse = _mm512_set1_ps(vanishing ? 0 : ROW_LEVELS / most);
  for (int i = 0; i < 4; i++) {
    const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(numbers[i], inverse));
    const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(whole, _mm512_set1_epi32(128)), 8); // the low part is from −128 to 127
    _mm_store_si128((__m128i *)high + i, _mm512_cvtepi32_epi8(upper));
    _mm_store_si128((__m128i *)low + i, _mm512_cvtepi32_epi8(whole));
  }
  if (vanishing) return 0;
  return most <= FLT_MAX ? most / ROW_LEVELS : NAN;
}

/** Reads 64 numbers of a row of a left operand; what lies beyond its depth is 0. */
static inline void read_numbers(const Product *p, long row, long start, __m512 numbers[4]) {
  const long count = least(SHARING, p->depth - start);
  float gathered[SHARING];
  const float *from = p->left + row * p->depth + start;
  if (p->left_transposed) {
    for (long k = 0; k < count; k++) gathered[k] = p->left[(start + k) * p->rows + row];
    from = gathered;
  }
  for (long i = 0; i < 4; i++) numbers[i] = _mm512_maskz_loadu_ps(mask_of(count - 16 * i), from + 16 * i);
}

/** Rounds 64 numbers from `start` of 8 rows from `row`; rows beyond the last are 0. */
static void round_rows(const Product *p, long row, long start, RoundedRows *into) {
  if (row + 8 > p->rows) memset(into, 0, sizeof *into);
  for (long i = 0; i < least(8, p->rows - row); i++) {
    __m512 numbers[4];
    read_numbers(p, row + i, start, numbers);
    into->scales[i] = p->alpha * round_numbers(numbers, into->tile + 128 * i, into->tile + 128 * i + 64);
  }
}
