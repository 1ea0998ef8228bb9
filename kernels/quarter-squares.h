// Packs squares of 16 × 16 numbers some rows at a time (NEON and others), because the registers cannot hold all of them.
#pragma once

#include "vectors.h"

/** Rows of numbers, times a factor; what lies beyond `rows` and `columns` is 0. */
typedef struct {
  const float *from;
  int64_t stride, rows, columns;
  float factor;
} Square;

static inline __attribute__((always_inline)) Vector read_row(Square s, int64_t row, const int whole) {
  if (!whole && row >= s.rows) return broadcast(0);
  return mul(broadcast(s.factor), load_first(whole ? 16 : s.columns, s.from + row * s.stride));
}

static inline __attribute__((always_inline)) void copy_rows(Square s, int transposed, float *into, int64_t stride, const int whole) {
  for (int64_t row = 0; row < 16 && !transposed; row++) store(into + row * stride, read_row(s, row, whole));
  for (int64_t row = 0; row < 16 && transposed; row += 4) {
    Vector rows[4];
    for (int i = 0; i < 4; i++) rows[i] = read_row(s, row + i, whole);
    store_transposed(rows, into + row, stride);
  }
}

/** Stores its rows, or columns. */
static __attribute__((noinline)) void copy_square(Square s, int transposed, float *into, int64_t stride) {
  if (s.rows >= 16 && s.columns >= 16) copy_rows(s, transposed, into, stride, 1);
  else copy_rows(s, transposed, into, stride, 0);
}
