// The numbers of a left operand that 16 columns are multiplied with (NEON and others): a register has four of them, and an instruction takes one of these.
#pragma once

#include "product.h"
#include "vectors.h"

enum {
  SPAN = 4 * BLOCK, // depth of a panel that stays in a core's first cache while all rows are multiplied with it
  MOST_ROWS = QUARTER_REGISTERS / 8, // whose sums are in registers
  FEWER_ROWS = MOST_ROWS,
  PLACES = QUARTER_REGISTERS / 4, // in depth that are multiplied in a row: on NEON, eight numbers of a row are read by one instruction
  HAS_LONG_LOOPS = PLACES == 8, // whether a loop of its own for whole blocks, whose end is known, is worth it
};

/** Processors themselves detect that memory is read in order. */
#define PREFETCH_COLUMNS(from)

static inline int64_t next_rows(int64_t left) { return MOST_ROWS; }

typedef struct {
  Four of[PLACES / 4];
} Multipliers;

static inline __attribute__((always_inline)) Multipliers multipliers_at(const float *from) {
  Multipliers x;
  UNROLLED
  for (int i = 0; i < PLACES / 4; i++) x.of[i] = load_four(from + 4 * i);
  return x;
}
static inline __attribute__((always_inline)) Vector add_multiple(Vector sum, Vector numbers, Multipliers x, int place) {
  return add_multiple_of(sum, numbers, x.of[place / 4], place % 4);
}
