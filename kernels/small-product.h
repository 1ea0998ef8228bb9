// Products of small matrices that are in the processor's caches, in float32. Nothing is packed: left operands are read number by number, so that they
// may be transposed, right ones row by row.
//
// Rows of results, depths of left operands that are triangular, and columns are padded: rows to whole tiles, columns to whole vectors.
#pragma once

#include "product.h"
#include "vectors.h"

enum {
  TILE_ROWS = REGISTERS >= 32 ? 8 : 4, // of a result whose sums are in registers,
  TILE_VECTORS = REGISTERS >= 32 ? 2 : 1, // and their columns, in vectors
};

/** What is known to be 0, and left out. */
typedef enum {
  NOTHING,
  ABOVE_LEFT, // what is right of the diagonal of the left operand
  BELOW_LEFT, // what is left of its diagonal
  ABOVE_RESULT, // what is right of the diagonal of the result, which need not be right
} Zeros;

/** into = kept · into + left · right */
typedef struct {
  const float *left;
  int64_t left_row, left_depth; // from a number to that of the next row, and of the next place in depth
  const float *right;
  int64_t right_stride;
  float *into;
  int64_t stride, rows, depth, columns;
  float kept;
  Zeros zeros;
} SmallProduct;

static inline __attribute__((always_inline)) void compute_tile(const SmallProduct *p, int64_t row, int64_t column, int64_t first, int64_t last,
                                                               const int vectors) {
  const float *left = p->left + row * p->left_row, *right = p->right + column;
  float *into = p->into + row * p->stride + column;
  Vector sums[TILE_ROWS][TILE_VECTORS];
  UNROLLED
  for (int i = 0; i < TILE_ROWS; i++)
    for (int v = 0; v < vectors; v++) {
      sums[i][v] = broadcast(0);
      if (p->kept != 0) sums[i][v] = mul(broadcast(p->kept), load(into + i * p->stride + 16 * v));
    }
  for (int64_t k = first; k < last; k++) {
    Vector numbers[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) numbers[v] = load(right + k * p->right_stride + 16 * v);
    UNROLLED
    for (int i = 0; i < TILE_ROWS; i++) {
      const Vector x = broadcast(left[i * p->left_row + k * p->left_depth]);
      for (int v = 0; v < vectors; v++) sums[i][v] = fmadd(x, numbers[v], sums[i][v]);
    }
  }
  UNROLLED
  for (int i = 0; i < TILE_ROWS; i++)
    for (int v = 0; v < vectors; v++) store(into + i * p->stride + 16 * v, sums[i][v]);
}

/** Columns are the outer loop, so that those of the right operand stay in the first cache. */
static void multiply_small(SmallProduct p) {
  for (int64_t column = 0; column < p.columns; column += 16 * TILE_VECTORS)
    for (int64_t row = 0; row < p.rows; row += TILE_ROWS) {
      if (p.zeros == ABOVE_RESULT && column >= row + TILE_ROWS) continue;
      const int64_t first = p.zeros == BELOW_LEFT ? row : 0, last = p.zeros == ABOVE_LEFT ? least(p.depth, row + TILE_ROWS) : p.depth;
      if (column + 16 * TILE_VECTORS <= p.columns) compute_tile(&p, row, column, first, last, TILE_VECTORS);
      else compute_tile(&p, row, column, first, last, 1);
    }
}

/** The transpose of a matrix whose sizes are multiples of 16. */
static void transpose_small(const float *from, int64_t stride, int64_t rows, int64_t columns, float *into, int64_t into_stride) {
  for (int64_t row = 0; row < rows; row += 16)
    for (int64_t column = 0; column < columns; column += 16) {
      Ints square[16];
      for (int64_t i = 0; i < 16; i++) square[i] = as_ints(load(from + (row + i) * stride + column));
      transpose(square);
      for (int64_t i = 0; i < 16; i++) store(into + (column + i) * into_stride + row, as_floats(square[i]));
    }
}
