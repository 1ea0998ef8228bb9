// How products use the 16 registers of AVX2: for sums of some rows and 16 columns, two numbers of a right operand, one of a left one, and a product.
#pragma once

#include "product.h"

enum {
  SPAN = 4 * BLOCK, // depth of a panel that stays in a core's first cache while all rows are multiplied with it
  MOST_ROWS = 6,
  FEWER_ROWS = 4, // whose sums are in registers
};

/** How many of the remaining rows are multiplied next, so that at most 32 are read. */
static inline int64_t next_rows(int64_t left) { return left > 2 * FEWER_ROWS || left == MOST_ROWS || left == MOST_ROWS - 1 ? MOST_ROWS : FEWER_ROWS; }
