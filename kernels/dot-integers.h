// Products of integers of 8 bits, four of which one instruction multiplies and adds (NEON with dotprod).
#pragma once

#include "integer-unit-functions.h"

enum { INTEGER_ROWS = 4 }; // at most this many have their sums for 16 columns in registers

/** Rows of 16 bits have two sums each. */
static inline __attribute__((always_inline)) int rows_at_once(const Coding c) { return c.row_bytes == 2 ? 2 : INTEGER_ROWS; }

/** Adds products of 4 levels of each of 16 columns and 4 of 16 integers. */
static inline __attribute__((always_inline)) Ints add_fours(Ints sums, const int8_t *levels, int8x16_t integers, const int place) {
  return (Ints){WITH_LANE(place, vdotq_laneq_s32, sums.a, vld1q_s8(levels), integers),
                WITH_LANE(place, vdotq_laneq_s32, sums.b, vld1q_s8(levels + 16), integers),
                WITH_LANE(place, vdotq_laneq_s32, sums.c, vld1q_s8(levels + 32), integers),
                WITH_LANE(place, vdotq_laneq_s32, sums.d, vld1q_s8(levels + 48), integers)};
}

/** Sums of products of some rows and 16 columns of a block: of the high parts of rows, if they have such, and of the low ones. */
static inline __attribute__((always_inline)) void sum_tile(const uint8_t *left, const uint8_t *levels, const Coding c, const int rows,
                                                           Ints sums[INTEGER_ROWS]) {
  Ints high[INTEGER_ROWS];
  UNROLLED
  for (int row = 0; row < rows; row++) high[row] = sums[row] = broadcast_ints(0);
  for (int k = 0; k < c.deep; k += 16, left += 16, levels += 256) {
    UNROLLED
    for (int place = 0; place < 4; place++) {
      UNROLLED
      for (int row = 0; row < rows; row++) {
        const int8_t *integers = (const int8_t *)left + rounded_row_bytes(c) * row, *columns = (const int8_t *)levels + 64 * place;
        if (c.row_bytes == 2) high[row] = add_fours(high[row], columns, vld1q_s8(integers), place);
        sums[row] = add_fours(sums[row], columns, vld1q_s8(integers + (c.row_bytes - 1) * c.deep), place);
      }
    }
  }
  if (c.row_bytes == 2) {
    UNROLLED
    for (int row = 0; row < rows; row++) sums[row] = add_ints(shift_left(high[row], 8), sums[row]);
  }
}
