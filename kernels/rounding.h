// Rows of left operands rounded to integers of 16 bits, 256 · high + low, or of 8, by as many numbers in depth as share a scale in the right operand.
#pragma once

#include <float.h>
#include <math.h>
#include <string.h>
#include "levels.h"
#include "vectors.h"

/** What the largest of the numbers that share a scale becomes, with either sign: of 16 bits 256 · 127 + 127. */
static inline int most_level(Coding c) { return c.row_bytes == 2 ? 32639 : 127; }

/**
 * 8 rows of a block: of each `deep` integers, or, where the unit multiplies integers of 8 bits, their high parts and then the low ones. After them
 * there are scales, and sums that levels need.
 */
typedef struct {
  float scales[8];
  union {
    float sums[8]; // of the rounded numbers, where levels have offsets
    int32_t whole_sums[8]; // of the integers, where levels have signs
  };
} RowScales;

static inline int64_t rounded_row_bytes(Coding c) { return (int64_t)c.row_bytes * c.deep; }
static inline int64_t eight_rows_bytes(Coding c) { return 8 * rounded_row_bytes(c) + (int64_t)sizeof(RowScales); }
static inline RowScales *row_scales(const uint8_t *rows, Coding c) { return (RowScales *)(rows + 8 * rounded_row_bytes(c)); }

/**
 * Rounds as many numbers of a row as a block is deep and returns their scale, which is NaN if one of them is infinite or NaN.
 * @param sum of the integers
 */
static inline float round_numbers(const Vector *numbers, Coding c, uint8_t *into, int32_t *sum) {
  const int count = c.deep / 16, level = most_level(c);
  Ints largest = broadcast_ints(0);
  for (int i = 0; i < count; i++) largest = max_abs(largest, numbers[i]);
  const float most = first_lane(as_floats(broadcast_ints(hmax_ints(largest))));
  const int vanishing = most < level * FLT_MIN; // the scale would be less than the smallest normal number
  const Vector inverse = broadcast(vanishing ? 0 : level / most);
  Ints wholes = broadcast_ints(0);
  for (int i = 0; i < count; i++) {
    const Ints whole = round_to_ints(mul(numbers[i], inverse));
    if (c.row_bytes == 1) store_lowest_bytes(into + 16 * i, whole);
    else if (c.together == 4) {
      store_lowest_bytes(into + 16 * i, shift_right_signed(add_ints(whole, broadcast_ints(128)), 8)); // the low part is from −128 to 127
      store_lowest_bytes(into + 16 * (count + i), whole);
    } else store_words((int16_t *)into + 16 * i, whole);
    wholes = add_ints(wholes, whole);
  }
  *sum = hsum_ints(wholes);
  if (vanishing) return 0;
  return most <= FLT_MAX ? most / level : NAN;
}

/** Reads numbers of a row of a left operand; what lies beyond its depth is 0. */
static inline void read_numbers(const Product *p, int64_t row, int64_t start, int count, Vector *numbers) {
  const int64_t there = least(16 * count, p->depth - start);
  float gathered[2 * BLOCK];
  const float *from = p->left + row * p->depth + start;
  if (p->left_transposed) {
    for (int64_t k = 0; k < there; k++) gathered[k] = p->left[(start + k) * p->rows + row];
    from = gathered;
  }
  for (int64_t i = 0; i < count; i++) numbers[i] = load_first(there - 16 * i, from + 16 * i);
}

/** Rounds as many numbers from `start` as a block is deep, of 8 rows from `row`; rows beyond the last are 0. */
static void round_rows(const Product *p, int64_t row, int64_t start, Coding c, uint8_t *into) {
  RowScales *scales = row_scales(into, c);
  if (row + 8 > p->rows) memset(into, 0, eight_rows_bytes(c));
  for (int64_t i = 0; i < least(8, p->rows - row); i++) {
    Vector numbers[4];
    read_numbers(p, row + i, start, c.deep / 16, numbers);
    int32_t whole_sum;
    scales->scales[i] = p->alpha * round_numbers(numbers, c, into + rounded_row_bytes(c) * i, &whole_sum);
    if (c.offsets) scales->sums[i] = scales->scales[i] * (float)whole_sum;
    else scales->whole_sums[i] = whole_sum;
  }
}
