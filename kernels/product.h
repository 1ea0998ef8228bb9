// A product, and the sizes of the pieces into which it is cut.
#pragma once

#include <stdint.h>
#include "stored.h"

/** The unit in which packed operands are counted: the size of a bfloat16 number. */
typedef uint16_t Packed;

enum {
  BLOCK = 32, // rows, columns and depth of what is multiplied at once
  HIGH_BLOCK = BLOCK * BLOCK, // the size of a packed block of bfloat16 numbers, or of the high parts of float32 ones
  WHOLE_BLOCK = 2 * HIGH_BLOCK, // that of a packed block of float32 numbers
  DEPTH = 1536, // of what is packed at once, so that it fits into caches
  GROUP_BYTES = 640 * 1024, // of packed panels in a task: well inside a core's second cache
  TASKS = 8, // at least, so that threads end at about the same time
  JOINT = 3, // products at most of one left operand in a node
  FEW_ROWS = 4, // at most so many rows are multiplied without packing them
  AHEAD = 2048, // bytes ahead of what is read that are prefetched
};

/** How operands are rounded, to save time. Coarse rounding is for gradients, and the same on some units. */
typedef enum { NOT_ROUNDED, ROUNDED, ROUNDED_COARSELY } Rounding;

/**
 * result = alpha · left · right + addend + inner · B, where inner may itself be left · A: a layer with its adapter
 * (LoRA). Where gradients come back through the layer, Bᵀ is in the place of A and Aᵀ in that of B. Matrices are stored row by row.
 */
typedef struct Product {
  const float *left, *addend; // the addend may be null
  Matrix right;
  float *result;
  int64_t rows, columns, depth;
  int left_transposed, right_transposed; // stored as [depth, rows] and [columns, depth]
  float alpha;
  Rounding rounding;
  const Packed *packed; // the right operand, if it was packed before
  int64_t packed_block; // the size of its blocks, WHOLE_BLOCK or HIGH_BLOCK
  int batch_invariant; // whether a row of the result must be the same, to the last bit, however many rows there are
  const struct Levels *levels; // the right operand, if small integers were made of it before
  const struct Product *lora_b; // inner · B, or null; as large as this product, but less deep. Only its operands count
  const struct Product *lora_a; // left · A, or null; its result is inner
} Product;

static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
