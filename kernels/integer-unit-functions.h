// What each unit of the processor that multiplies integers has.
//
// Rows are rounded to integers (rounding.h), which are multiplied with levels (levels.h). Those of 16 bits are multiplied in two parts of 8 bits, or, by
// units that do not multiply such, as they are.
#pragma once

#include "levels.h"
#include "rounding.h"

/** Sums of 8 rows and 32 columns. */
typedef struct {
  Vector of[8][2];
} RowSums;

/** Blocks of a panel: their levels, one byte each, and their scales, and how many bytes there are from block to block. */
typedef struct {
  const uint8_t *levels, *scales;
  int64_t levels_stride, scales_stride;
} Right;

static inline Right right_at(Right r, int64_t group) {
  return (Right){r.levels + group * r.levels_stride, r.scales + group * r.scales_stride, r.levels_stride, r.scales_stride};
}

/** 16 scales or offsets. */
static inline __attribute__((always_inline)) Vector read_scales(const uint8_t *from, const Coding c, int64_t first) {
  return c.halves ? from_halves(from + first * sizeof(uint16_t)) : load((const float *)from + first);
}

/** Bytes to prefetch while 8 rows are multiplied by some blocks: this many lines for each block. */
typedef struct {
  const uint8_t *from;
  int64_t lines;
} Ahead;

/** Before and after a thread uses `add_blocks` with blocks so deep. */
static void start_integers(int deep);
static void stop_integers(void);

/** Adds the product of up to 8 rows and some blocks of a panel. */
static inline void add_blocks(const uint8_t *left, int64_t rows, Right right, int64_t groups, Ahead ahead, const Coding c, RowSums *sums);
