// The numbers of a left operand that 16 columns are multiplied with (NEON and others): a register has four of them, and an instruction takes one of these.
#pragma once

#include "product.h"
#include "vectors.h"

enum {
  SPAN = 4 * BLOCK, // depth of a panel that stays in a core's first cache while all rows are multiplied with it
  MOST_ROWS = QUARTER_REGISTERS / 8, // whose sums are in registers
  FEWER_ROWS = MOST_ROWS,
  PLACES = 4, // in depth that are multiplied in a row
};

/** Processors see for themselves that memory is read in its order. */
#define PREFETCH_COLUMNS(from)

static inline int64_t next_rows(int64_t left) { return MOST_ROWS; }

typedef Four Multipliers;

static inline Multipliers multipliers_at(const float *from) { return load_four(from); }
static inline __attribute__((always_inline)) Vector add_multiple(Vector sum, Vector numbers, Multipliers x, int place) {
  return add_multiple_of(sum, numbers, x, place);
}
