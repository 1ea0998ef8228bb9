// Rows of left operands rounded to integers of 16 bits, 256 · high + low, by as many numbers in depth as share a scale in the right operand.
#pragma once

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>
#include "levels.h"
#include "vectors.h"

/** The largest of the numbers that share a scale becomes ±(256 · 127 + 127). */
enum { ROW_LEVELS = 32639 };

/** 8 rows of a block: of each the high parts of `deep` integers, then the low ones. After them there are scales, and sums that levels need. */
typedef struct {
  float scales[8];
  union {
    float sums[8];         // of the numbers, where levels have offsets
    int32_t whole_sums[8]; // of the integers, where levels have signs
  };
} RowScales;

static inline long rounded_rows_bytes(int deep) { return 16 * deep + (long)sizeof(RowScales); }
static inline RowScales *row_scales(const uint8_t *rows, int deep) { return (RowScales *)(rows + 16 * deep); }

/**
 * Rounds 16 · `count` numbers of a row and returns their scale, which is not a number if one of them is infinite or not a number.
 * @param sum of the integers
 */
static inline float round_numbers(const __m512 *numbers, int count, int8_t *high, int8_t *low, int32_t *sum) {
  // As bits, positive numbers have the same order, and after them come infinity and what is not a number.
  __m512i largest = _mm512_setzero_si512();
  for (int i = 0; i < count; i++) largest = _mm512_max_epi32(largest, _mm512_castps_si512(_mm512_abs_ps(numbers[i])));
  const float most = _mm512_cvtss_f32(_mm512_castsi512_ps(_mm512_set1_epi32(_mm512_reduce_max_epi32(largest))));
  const int vanishing = most < ROW_LEVELS * FLT_MIN; // the scale would be less than the smallest normal number
  const __m512 inverse = _mm512_set1_ps(vanishing ? 0 : ROW_LEVELS / most);
  __m512i wholes = _mm512_setzero_si512();
  for (int i = 0; i < count; i++) {
    const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(numbers[i], inverse));
    const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(whole, _mm512_set1_epi32(128)), 8); // the low part is from −128 to 127
    _mm_store_si128((__m128i *)high + i, _mm512_cvtepi32_epi8(upper));
    _mm_store_si128((__m128i *)low + i, _mm512_cvtepi32_epi8(whole));
    wholes = _mm512_add_epi32(wholes, whole);
  }
  *sum = _mm512_reduce_add_epi32(wholes);
  if (vanishing) return 0;
  return most <= FLT_MAX ? most / ROW_LEVELS : NAN;
}

/** Reads numbers of a row of a left operand; what lies beyond its depth is 0. */
static inline void read_numbers(const Product *p, long row, long start, int count, __m512 *numbers) {
  const long there = least(16 * count, p->depth - start);
  float gathered[2 * BLOCK];
  const float *from = p->left + row * p->depth + start;
  if (p->left_transposed) {
    for (long k = 0; k < there; k++) gathered[k] = p->left[(start + k) * p->rows + row];
    from = gathered;
  }
  for (long i = 0; i < count; i++) numbers[i] = _mm512_maskz_loadu_ps(mask_of(there - 16 * i), from + 16 * i);
}

/** Rounds as many numbers from `start` as a block is deep, of 8 rows from `row`; rows beyond the last are 0. */
static void round_rows(const Product *p, long row, long start, Coding c, uint8_t *into) {
  const int deep = c.deep, count = deep / 16;
  RowScales *scales = row_scales(into, deep);
  if (row + 8 > p->rows) memset(into, 0, rounded_rows_bytes(deep));
  for (long i = 0; i < least(8, p->rows - row); i++) {
    __m512 numbers[4], sum = _mm512_setzero_ps();
    read_numbers(p, row + i, start, count, numbers);
    int8_t *high = (int8_t *)into + 2 * deep * i;
    int32_t whole_sum;
    scales->scales[i] = p->alpha * round_numbers(numbers, count, high, high + deep, &whole_sum);
    scales->whole_sums[i] = whole_sum;
    if (!c.offsets) continue;
    for (int j = 0; j < count; j++) sum = _mm512_add_ps(sum, numbers[j]);
    scales->sums[i] = p->alpha * _mm512_reduce_add_ps(sum);
  }
}
