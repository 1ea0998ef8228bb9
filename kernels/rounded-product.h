// Products with a right operand that was rounded to integers of 8 bits, on the 8-bit matrix units.
//
// Rows are rounded to integers of 16 bits, which are multiplied in two parts. They keep 15 bits of the largest of 64 numbers, an error of
// 2e-5; that of the other operand is hundreds of times larger. The sum over these 64 numbers is exact. Then it is multiplied with both
// scales and added in float32.
#pragma once

#include "rounding.h"
#include "scratch.h"
#include "thin-product.h"
#include "threads.h"
#include "tiles.h"

enum {
  CHUNK = 12, // blocks of a panel that stay in a core's first cache while rows are multiplied with them
  PARTS = 4,  // tasks that round 8 rows
};

/** RowSums of 8 rows and 32 columns. */
typedef struct { __m512 of[8][2]; } RowSums;

/** Products of integers, two tiles of them. */
typedef struct { int32_t of[2][256]; } __attribute__((aligned(64))) Integers;

/** Multiplies 8 rows and each of two blocks that follow each other in depth, in tiles 0 to 3. */
static inline void multiply_two(const RoundedRows *left, const RoundedBlock *right) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, left[0].tile, 64);
  _tile_loadd(6, right[0].tiles[0], 64);
  _tile_dpbssd(0, 4, 6);
  _tile_loadd(7, right[0].tiles[1], 64);
  _tile_dpbssd(1, 4, 7);
  _tile_loadd(5, left[1].tile, 64);
  _tile_loadd(6, right[1].tiles[0], 64);
  _tile_dpbssd(2, 5, 6);
  _tile_loadd(7, right[1].tiles[1], 64);
  _tile_dpbssd(3, 5, 7);
}

static inline void multiply_one(const RoundedRows *left, const RoundedBlock *right) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_loadd(4, left->tile, 64);
  _tile_loadd(6, right->tiles[0], 64);
  _tile_dpbssd(0, 4, 6);
  _tile_loadd(7, right->tiles[1], 64);
  _tile_dpbssd(1, 4, 7);
}

static inline void store_integers(Integers into[2]) {
  _tile_stored(0, into[0].of[0], 64);
  _tile_stored(1, into[0].of[1], 64);
  _tile_stored(2, into[1].of[0], 64);
  _tile_stored(3, into[1].of[1], 64);
}

static inline __attribute__((always_inline)) void add_integers(const Integers *products, const float *row_scales, const float *scales,
                                                               RowSums *sums) {
  const __m512 column_scales[2] = {_mm512_load_ps(scales), _mm512_load_ps(scales + 16)};
#pragma GCC unroll 8
  for (int row = 0; row < 8; row++) {
    const __m512 row_scale = _mm512_set1_ps(row_scales[row]);
#pragma GCC unroll 2
    for (int tile = 0; tile < 2; tile++) {
      const int32_t *high = products->of[tile] + 32 * row, *low = high + 16;
      const __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(high), 8), _mm512_load_si512(low));
      const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), row_scale);
      sums->of[row][tile] = _mm512_fmadd_ps(product, column_scales[tile], sums->of[row][tile]);
    }
  }
}

/** Lines of each block of a chunk that are to be prefetched: as many blocks further on as `from` is. */
typedef struct { const RoundedBlock *from; long first, last; } Ahead;

/** Adds the product of 8 rows and some blocks of a panel, two at a time: while these are multiplied, the two before are added. */
static void add_rounded(const RoundedRows *left, const RoundedBlock *right, long groups, Ahead ahead, RowSums *result) {
  Integers products[2];
  RowSums sums = *result; // in registers
  for (long group = 0; group < groups + 2; group += 2) {
    if (group + 1 < groups) multiply_two(left + group, right + group);
    else if (group < groups) multiply_one(left + group, right + group);
    for (long i = group; i < least(group + 2, groups); i++)
      for (long line = ahead.first; line < ahead.last; line++) _mm_prefetch((const char *)(ahead.from + i) + 64 * line, _MM_HINT_T1);
    if (group > 0) {
      add_integers(&products[0], left[group - 2].scales, right[group - 2].scales, &sums);
      if (group - 1 < groups) add_integers(&products[1], left[group - 1].scales, right[group - 1].scales, &sums);
    }
    if (group < groups) store_integers(products);
  }
  *result = sums;
}

/** 16 columns of a right operand, 16 numbers of each from `start`: a vector for each place in depth. */
static inline void read_columns(const Product *p, long start, long column, __m512 into[16]) {
  const float *right = p->right.numbers;
  const long depth = p->depth - start, columns = p->columns - column;
#pragma GCC unroll 16
  for (long i = 0; i < 16; i++)
    if (p->right_transposed) into[i] = _mm512_maskz_loadu_ps(i < columns ? mask_of(depth) : 0, right + (column + i) * p->depth + start);
    else into[i] = _mm512_maskz_loadu_ps(i < depth ? mask_of(columns) : 0, right + (start + i) * p->columns + column);
  if (p->right_transposed) transpose((__m512i *)into);
}

/** Adds a thin product for rows and 32 columns. */
static void add_thin(const Product *p, long row, long rows, long column, RowSums *sums) {
  const __m512 alpha = _mm512_set1_ps(p->alpha);
  for (long tile = 0; tile < 2 && column + 16 * tile < p->columns; tile++)
    for (long start = 0; start < p->depth; start += 16) {
      __m512 numbers[16];
      read_columns(p, start, column + 16 * tile, numbers);
#pragma GCC unroll 16
      for (int k = 0; k < 16; k++) numbers[k] = _mm512_mul_ps(alpha, numbers[k]);
      const __mmask16 mask = mask_of(p->depth - start);
      float padded[16];
      for (long i = 0; i < rows; i++) {
        const float *left = p->left + (row + i) * p->depth + start;
        if (mask != 0xffff) { // what follows may be the end of the memory
          _mm512_storeu_ps(padded, _mm512_maskz_loadu_ps(mask, left));
          left = padded;
        }
        __m512 *sum = &sums[i / 8].of[i % 8][tile];
        __m512 even = *sum, odd = _mm512_setzero_ps();
#pragma GCC unroll 8
        for (int k = 0; k < 16; k += 2) {
          even = _mm512_fmadd_ps(_mm512_set1_ps(left[k]), numbers[k], even);
          odd = _mm512_fmadd_ps(_mm512_set1_ps(left[k + 1]), numbers[k + 1], odd);
        }
        *sum = _mm512_add_ps(even, odd);
      }
    }
}

/** A product, its left operand, which was rounded, and how it is divided into tasks. */
typedef struct {
  const Product *product;
  RoundedRows *left;   // `groups` for each 8 rows
  long groups, panels; // blocks of a panel, panels of a task
} RoundedProduct;

static void write_sums(const Product *p, const RowSums *sums, long row, long rows, long column) {
  for (long i = 0; i < rows; i++)
    for (long tile = 0; tile < 2; tile++) {
      const __mmask16 mask = mask_of(p->columns - column - 16 * tile);
      const long place = (row + i) * p->columns + column + 16 * tile;
      __m512 sum = sums[i / 8].of[i % 8][tile];
      if (p->addend) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, p->addend + place));
      _mm512_mask_storeu_ps(p->result + place, mask, sum);
    }
}

/** Computes up to 32 rows and 32 columns of the result. */
static void multiply_rounded(const RoundedProduct *r, long row, long panel) {
  const Product *p = r->product;
  const long rows = least(BLOCK, p->rows - row), eights = ceiling(rows, 8), lines = sizeof(RoundedBlock) / 64;
  RowSums sums[BLOCK / 8];
  memset(sums, 0, eights * sizeof *sums);
  if (p->other) add_thin(p->other, row, rows, panel * BLOCK, sums);
  const RoundedRows *left = r->left + row / 8 * r->groups;
  const RoundedBlock *right = p->rounded + panel * r->groups;
  for (long start = 0; start < r->groups; start += CHUNK)
    for (long i = 0; i < eights; i++) {
      const Ahead ahead = {right + start + least(CHUNK, r->groups), lines * i / eights, lines * (i + 1) / eights};
      add_rounded(left + i * r->groups + start, right + start, least(CHUNK, r->groups - start), ahead, sums + i);
    }
  write_sums(p, sums, row, rows, panel * BLOCK);
}

static void multiply_rounded_task(void *data, size_t index) {
  const RoundedProduct *r = data;
  const long first = (long)index * r->panels, last = least(first + r->panels, ceiling(r->product->columns, BLOCK));
  configure();
  for (long row = 0; row < r->product->rows; row += BLOCK)
    for (long panel = first; panel < last; panel++) multiply_rounded(r, row, panel);
  _tile_release();
}

/** A part of the depth of 8 rows, and of the columns of their thin product. */
static void round_rows_task(void *data, size_t index) {
  const RoundedProduct *r = data;
  const Product *p = r->product, *down = p->down;
  const long eight = (long)index / PARTS, part = (long)index % PARTS, row = 8 * eight;
  for (long group = r->groups * part / PARTS; group < r->groups * (part + 1) / PARTS; group++)
    round_rows(p, row, group * SHARING, r->left + eight * r->groups + group);
  if (down) multiply_thin(down, row, least(8, p->rows - row), down->columns * part / PARTS, down->columns * (part + 1) / PARTS);
}

static void *compute_rounded(const Product *p, void *context) {
  const long panels = ceiling(p->columns, BLOCK), groups = ceiling(p->depth, SHARING), eights = ceiling(p->rows, 8);
  const Scratch scratch = borrow(eights * groups * sizeof(RoundedRows));
  if (!scratch.memory) return out_of_memory();
  const long fitting = GROUP_BYTES / (groups * (long)sizeof(RoundedBlock));
  RoundedProduct r = {p, scratch.memory, groups, least(fitting > 0 ? fitting : 1, ceiling(panels, TASKS))};
  void *status = in_parallel(context, round_rows_task, PARTS * eights, &r);
  if (!status) status = in_parallel(context, multiply_rounded_task, ceiling(panels, r.panels), &r);
  give_back(scratch);
  return status;
}
