// Lays operands out in blocks: strips of 32 rows of the left one, panels of 32 columns of the right one.
#pragma once

#include <string.h>
#include "platform.h"
#include "unit.h"

/** Packs rows as a left operand: up to 32 of them, `depth` numbers of each. */
static void pack_rows(const float *from, int64_t stride, int64_t rows, int64_t depth, float factor, int64_t size, Packed *into) {
  for (int64_t k = 0; k < depth; k += SPAN) pack(from + k, stride, 1, 0, size, rows, depth - k, factor, into + k / BLOCK * size);
}

/** Packs columns as a left operand: strips of 32 of them, each `rows` deep. */
static void pack_columns(const float *from, int64_t stride, int64_t rows, int64_t columns, float factor, int64_t size, Packed *into) {
  const int64_t strip = ceiling(rows, BLOCK) * size;
  for (int64_t column = 0; column < columns; column += BLOCK, into += strip)
    for (int64_t row = 0; row < rows; row += SPAN)
      pack(from + row * stride + column, stride, 0, 0, size, columns - column, rows - row, factor, into + row / BLOCK * size);
}

/** Packs rows as the columns of a right operand, in blocks of this size: a panel for each 32 of them. */
static void pack_as_columns(Matrix m, int64_t rows, int64_t depth, float factor, int64_t size, Packed *into) {
  const int64_t panel = ceiling(depth, BLOCK) * size;
  float decoded[BLOCK * SPAN];
  for (int64_t row = 0; row < rows; row += BLOCK, into += panel)
    for (int64_t k = 0; k < depth; k += SPAN) {
      const Matrix region = region_of(m, row, k, least(BLOCK, rows - row), least(SPAN, depth - k), decoded);
      pack(region.numbers, region.stride, 1, 1, size, rows - row, depth - k, factor, into + k / BLOCK * size);
    }
}

/** Packs rows as the depth of a right operand, in the order in which numbers are in memory: a panel for each 32 columns. */
static void pack_as_depth(Matrix m, int64_t rows, int64_t columns, float factor, int64_t size, Packed *into) {
  const int64_t panel = ceiling(rows, BLOCK) * size;
  float decoded[SPAN * BLOCK];
  for (int64_t row = 0; row < rows; row += SPAN, into += SPAN / BLOCK * size)
    for (int64_t column = 0; column < columns; column += BLOCK) {
      const Matrix region = region_of(m, row, column, least(SPAN, rows - row), BLOCK, decoded);
      pack(region.numbers, region.stride, 0, 1, size, columns - column, rows - row, factor, into + column / BLOCK * panel);
    }
}

/** A strip of 32 rows from `row`, for `depth` numbers from `start`. */
static void pack_left(const Product *p, int64_t row, int64_t start, int64_t depth, int64_t size, Packed *into) {
  const int64_t rows = least(BLOCK, p->rows - row);
  if (p->left_transposed) pack_columns(p->left + start * p->rows + row, p->rows, depth, rows, p->alpha, size, into);
  else pack_rows(p->left + row * p->depth + start, p->depth, rows, depth, p->alpha, size, into);
}

/** Panels of 32 columns each, from column `first` to `last`. */
static void pack_right(const Product *p, int64_t first, int64_t last, int64_t start, int64_t depth, float factor, int64_t size, Packed *into) {
  if (p->right_transposed) pack_as_columns(part_of(p->right, first, start), last - first, depth, factor, size, into);
  else pack_as_depth(part_of(p->right, start, first), depth, last - first, factor, size, into);
}

/** Packs the right operand of a product in blocks of this size. Returns null if there is no memory. */
static Packed *pack_panels(const Product *p, int64_t size) {
  Packed *packed = allocate(ceiling(p->columns, BLOCK) * ceiling(p->depth, BLOCK) * size * sizeof(Packed));
  if (packed) pack_right(p, 0, p->columns, 0, p->depth, 1, size, packed);
  return packed;
}

/** Whether all numbers are bfloat16 numbers, as they are in most checkpoints. */
static int are_bfloat16(Matrix m, int64_t count) {
  uint32_t lower = m.format != FLOAT32 && m.format != BFLOAT16;
  for (int64_t i = 0; m.format == FLOAT32 && i < count; i++) {
    uint32_t bits;
    memcpy(&bits, (const float *)m.numbers + i, sizeof bits);
    lower |= bits & 0xffff;
  }
  return lower == 0;
}
