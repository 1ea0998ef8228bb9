// Products of integers on a vector unit, of as many rows at once as the registers hold sums for.
#pragma once

#include "integer-unit-functions.h"

/** How many rows are multiplied at once, at most. */
static inline int rows_at_once(const Coding c);

/** Adds the product of some of eight rows, from `first`, and a block of a panel. */
static inline void add_block(const uint8_t *left, int first, Right right, const Coding c, const int rows, RowSums *result);

#ifdef __AVX512F__
#include "avx512-integers.h"
#elif defined __AVX2__
#include "avx2-integers.h"
#else
#include "quarter-integers.h"
#endif

static void start_integers(int deep) {}
static void stop_integers(void) {}

static inline __attribute__((always_inline)) void add_some_rows(const uint8_t *left, int first, Right right, int64_t groups, Ahead ahead,
                                                                const Coding c, const int rows, RowSums *result) {
  for (int64_t group = 0; group < groups; group++) {
    add_block(left + group * eight_rows_bytes(c), first, right_at(right, group), c, rows, result);
    for (int64_t line = group * ahead.lines; first == 0 && line < (group + 1) * ahead.lines; line++)
      __builtin_prefetch((const char *)ahead.from + 64 * line, 0, 3);
  }
}

static inline __attribute__((always_inline)) void add_blocks(const uint8_t *left, int64_t rows, Right right, int64_t groups, Ahead ahead,
                                                             const Coding c, RowSums *result) {
  const int most = rows_at_once(c);
  for (int first = 0; first < rows; first += most) {
    const int64_t rest = rows - first;
    if (rest == 1) add_some_rows(left, first, right, groups, ahead, c, 1, result);
    else if (rest == 2) add_some_rows(left, first, right, groups, ahead, c, 2, result);
    else if (rest <= 4 && most > 4) add_some_rows(left, first, right, groups, ahead, c, 4, result);
    else add_some_rows(left, first, right, groups, ahead, c, most, result);
  }
}
