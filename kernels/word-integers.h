// Products of integers of 16 bits on vector units of four numbers each: levels become such integers, too.
#pragma once

#include "integer-unit-functions.h"

enum { INTEGER_ROWS = QUARTER_REGISTERS / 8 }; // whose sums for 16 columns are in registers

static inline __attribute__((always_inline)) int rows_at_once(const Coding c) { return INTEGER_ROWS; }

/** Sums of products of some rows and 16 columns of a block. */
static inline __attribute__((always_inline)) void sum_tile(const uint8_t *left, const uint8_t *levels, const Coding c, const int rows,
                                                           Ints sums[INTEGER_ROWS]) {
  UNROLLED
  for (int row = 0; row < rows; row++) sums[row] = broadcast_ints(0);
  for (int k = 0; k < c.deep; k += 4, left += 4 * sizeof(int16_t)) {
    FourWords x[INTEGER_ROWS];
    UNROLLED
    for (int row = 0; row < rows; row++) memcpy(x + row, left + rounded_row_bytes(c) * row, sizeof *x);
    UNROLLED
    for (int i = 0; i < 4; i++) {
      const Words words = words_of_signed_bytes(load_bytes(levels + 16 * (k + i)));
      UNROLLED
      for (int row = 0; row < rows; row++) sums[row] = add_multiple_of_words(sums[row], words, x[row], i);
    }
  }
}
