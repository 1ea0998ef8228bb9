// Products of integers on vector units of four numbers each, 16 columns at a time.
#pragma once

#ifdef __ARM_FEATURE_DOTPROD
#include "dot-integers.h"
#else
#include "word-integers.h"
#endif

/** Adds the product of some of eight rows, from `first`, and 16 columns of a block of a panel. */
static inline __attribute__((always_inline)) void add_tile(const uint8_t *left, int first, Right right, int tile, const Coding c, const int rows,
                                                           RowSums *result) {
  const RowScales *scales = row_scales(left, c);
  Ints sums[INTEGER_ROWS];
  sum_tile(left + rounded_row_bytes(c) * first, right.levels + 16 * c.deep * tile, c, rows, sums);
  const Vector column_scales = read_scales(right.scales, c, 16 * tile);
  Vector offsets;
  if (c.offsets) offsets = read_scales(right.scales + scale_bytes(c), c, 16 * tile);
  UNROLLED
  for (int row = 0; row < rows; row++) {
    const Vector product = mul(ints_to_floats(sums[row]), broadcast(scales->scales[first + row]));
    Vector sum = fmadd(product, column_scales, result->of[first + row][tile]);
    if (c.offsets) sum = fmadd(broadcast(scales->sums[first + row]), offsets, sum);
    result->of[first + row][tile] = sum;
  }
}

static inline __attribute__((always_inline)) void add_block(const uint8_t *left, int first, Right right, const Coding c, const int rows,
                                                            RowSums *result) {
  for (int tile = 0; tile < 2; tile++) add_tile(left, first, right, tile, c, rows, result);
}
