// Products with a right operand of small integers (levels.h).
//
// Rows are rounded to integers of 16 bits, which keep 15 bits of the largest of the numbers that share a scale, an error of 2e-5, or of 8 bits, an error
// of 5e-3. The sum over these is exact. Then it is multiplied with both scales and added in float32.
#pragma once

#include "integer-unit.h"
#include "scratch.h"
#include "thin-product.h"
#include "threads.h"

enum {
  CHUNK_DEPTH = 768, // of a panel that stays in a core's first cache while rows are multiplied with it
  PARTS = 4, // tasks that round 8 rows
  EXPANDED = BLOCK * BLOCK, // bytes of a block of 4 bits when each level has a byte
};

/** Gives each level of blocks of 4 bits a byte. */
static void expand(const uint8_t *blocks, int64_t groups, int64_t stride, uint8_t *into) {
  const Ints lower = broadcast_ints(0x0f0f0f0f);
  for (int64_t group = 0; group < groups; group++, into += EXPANDED)
    for (int64_t i = 0; i < EXPANDED / 2; i += 64) {
      const Ints pairs = as_ints(load((const float *)(blocks + group * stride + i)));
      store((float *)(into + i), as_floats(bits_and(pairs, lower)));
      store((float *)(into + EXPANDED / 2 + i), as_floats(bits_and(shift_right(pairs, 4), lower)));
    }
}

/** 16 columns of a right operand, 16 numbers of each from `start`: a vector for each place in depth. */
static inline void read_columns(const Product *p, int64_t start, int64_t column, Vector into[16]) {
  const float *right = p->right.numbers;
  const int64_t depth = p->depth - start, columns = p->columns - column;
  UNROLLED
  for (int64_t i = 0; i < 16; i++)
    if (p->right_transposed) into[i] = load_first(i < columns ? depth : 0, right + (column + i) * p->depth + start);
    else into[i] = load_first(i < depth ? columns : 0, right + (start + i) * p->columns + column);
  if (p->right_transposed) transpose((Ints *)into);
}

/** Adds a thin product for rows and 32 columns. */
static void add_thin(const Product *p, int64_t row, int64_t rows, int64_t column, RowSums *sums) {
  const Vector alpha = broadcast(p->alpha);
  for (int64_t tile = 0; tile < 2 && column + 16 * tile < p->columns; tile++)
    for (int64_t start = 0; start < p->depth; start += 16) {
      Vector numbers[16];
      read_columns(p, start, column + 16 * tile, numbers);
      UNROLLED
      for (int k = 0; k < 16; k++) numbers[k] = mul(alpha, numbers[k]);
      const int64_t depth = p->depth - start;
      float padded[16];
      for (int64_t i = 0; i < rows; i++) {
        const float *left = p->left + (row + i) * p->depth + start;
        if (depth < 16) { // what follows may be the end of the memory
          store(padded, load_first(depth, left));
          left = padded;
        }
        Vector *sum = &sums[i / 8].of[i % 8][tile];
        Vector even = *sum, odd = broadcast(0);
        UNROLLED
        for (int k = 0; k < 16; k += 2) {
          even = fmadd(broadcast(left[k]), numbers[k], even);
          odd = fmadd(broadcast(left[k + 1]), numbers[k + 1], odd);
        }
        *sum = add(even, odd);
      }
    }
}

/** Products of one left operand, that operand, which was rounded, and how they are divided into tasks. */
typedef struct {
  const Product *products;
  int64_t count;
  uint8_t *left; // `groups` for each 8 rows
  int64_t panels, of_a_task; // of all products, one after another
} IntegerProducts;

static void write_sums(const Product *p, const RowSums *sums, int64_t row, int64_t rows, int64_t column) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t tile = 0; tile < 2; tile++) {
      const int64_t count = p->columns - column - 16 * tile, place = (row + i) * p->columns + column + 16 * tile;
      Vector sum = sums[i / 8].of[i % 8][tile];
      if (p->addend) sum = add(sum, load_first(count, p->addend + place));
      store_first(count, p->result + place, sum);
    }
}

/** Computes up to 32 rows and 32 columns of the result. */
static void multiply_integers(const IntegerProducts *r, const Product *p, int64_t row, int64_t panel) {
  const Coding c = p->levels->coding;
  const int64_t groups = p->levels->groups, size = coded_bytes(c), chunk = CHUNK_DEPTH / c.deep;
  const int64_t rows = least(BLOCK, p->rows - row), eights = ceiling(rows, 8);
  RowSums sums[BLOCK / 8];
  memset(sums, 0, eights * sizeof *sums);
  if (p->lora_b) add_thin(p->lora_b, row, rows, panel * BLOCK, sums);
  uint8_t expanded[CHUNK_DEPTH / BLOCK * EXPANDED] __attribute__((aligned(64)));
  const uint8_t *left = r->left + row / 8 * groups * eight_rows_bytes(c);
  for (int64_t start = 0; start < groups; start += chunk) {
    const int64_t count = least(chunk, groups - start);
    const uint8_t *blocks = p->levels->blocks + (panel * groups + start) * size;
    Right right = {blocks, blocks + level_bytes(c), size, size};
    if (c.bits == 4) {
      expand(blocks, count, size, expanded);
      right.levels = expanded;
      right.levels_stride = EXPANDED;
    }
    // While rows are multiplied with these blocks, each eight prefetches its part of those that follow.
    const int64_t lines = ceiling(size, 64 * eights);
    for (int64_t i = 0; i < eights; i++) {
      const Ahead ahead = {blocks + least(chunk, groups) * size + i * count * lines * 64, lines};
      add_products(left + (i * groups + start) * eight_rows_bytes(c), least(8, rows - 8 * i), right, count, ahead, c, sums + i);
    }
  }
  write_sums(p, sums, row, rows, panel * BLOCK);
}

static void multiply_integers_task(void *data, size_t index) {
  const IntegerProducts *r = data;
  const int64_t first = (int64_t)index * r->of_a_task, last = least(first + r->of_a_task, r->panels);
  start_integers(r->products->levels->coding.deep);
  for (int64_t row = 0; row < r->products->rows; row += BLOCK)
    for (int64_t i = first; i < last; i++) {
      const Product *p = r->products;
      int64_t panel = i;
      for (; panel >= ceiling(p->columns, BLOCK); p++) panel -= ceiling(p->columns, BLOCK);
      multiply_integers(r, p, row, panel);
    }
  stop_integers();
}

/** A part of the depth of 8 rows, and of the columns of their thin products. */
static void round_rows_task(void *data, size_t index) {
  const IntegerProducts *r = data;
  const Product *p = r->products;
  const int deep = p->levels->coding.deep;
  const int64_t groups = p->levels->groups, eight = (int64_t)index / PARTS, part = (int64_t)index % PARTS, row = 8 * eight;
  for (int64_t group = groups * part / PARTS; group < groups * (part + 1) / PARTS; group++)
    round_rows(p, row, group * deep, p->levels->coding, r->left + (eight * groups + group) * eight_rows_bytes(p->levels->coding));
  for (int64_t i = 0; i < r->count; i++) {
    const Product *lora_a = p[i].lora_a;
    if (lora_a) multiply_thin(lora_a, row, least(8, p->rows - row), lora_a->columns * part / PARTS, lora_a->columns * (part + 1) / PARTS);
  }
}

static OrtStatus *compute_integers(const Product *products, int64_t count, OrtKernelContext *context) {
  const Levels *levels = products->levels;
  const int64_t eights = ceiling(products->rows, 8);
  const Scratch scratch = borrow(eights * levels->groups * eight_rows_bytes(levels->coding));
  if (!scratch.memory) return out_of_memory();
  IntegerProducts r = {.products = products, .count = count, .left = scratch.memory};
  for (int64_t i = 0; i < count; i++) r.panels += ceiling(products[i].columns, BLOCK);
  const int64_t fitting = GROUP_BYTES / (levels->groups * coded_bytes(levels->coding));
  r.of_a_task = least(fitting > 0 ? fitting : 1, ceiling(r.panels, TASKS));
  OrtStatus *status = in_parallel(context, round_rows_task, PARTS * eights, &r);
  if (!status) status = in_parallel(context, multiply_integers_task, ceiling(r.panels, r.of_a_task), &r);
  give_back(scratch);
  return status;
}
