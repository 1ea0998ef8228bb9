// Products with a right operand of small integers (levels.h), on the 8-bit matrix units.
//
// Rows are rounded to integers of 16 bits, which are multiplied in two parts. They keep 15 bits of the largest of the numbers that share a scale,
// an error of 2e-5. The sum over these is exact. Then it is multiplied with both scales and added in float32.
#pragma once

#include "levels.h"
#include "rounding.h"
#include "scratch.h"
#include "thin-product.h"
#include "threads.h"
#include "tiles.h"

enum {
  CHUNK_DEPTH = 768, // of a panel that stays in a core's first cache while rows are multiplied with it
  PARTS = 4,         // tasks that round 8 rows
  EXPANDED = BLOCK * BLOCK, // bytes of a block of 4 bits when each level has a byte
};

/** Sums of 8 rows and 32 columns. */
typedef struct { __m512 of[8][2]; } RowSums;

/** Products of integers, two tiles of them. */
typedef struct { int32_t of[2][256]; } __attribute__((aligned(64))) Integers;

/** Blocks of a panel: their levels, one byte each, and their scales, and how many bytes there are from block to block. */
typedef struct {
  const uint8_t *levels, *scales;
  long levels_stride, scales_stride;
} Right;

static inline Right right_at(Right r, long group) {
  return (Right){r.levels + group * r.levels_stride, r.scales + group * r.scales_stride, r.levels_stride, r.scales_stride};
}

/** Multiplies 8 rows and a block in tiles 0 and 1. */
static inline __attribute__((always_inline)) void multiply_first(const uint8_t *left, const uint8_t *levels, const int deep) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_loadd(4, left, deep);
  _tile_loadd(6, levels, 64);
  _tile_dpbssd(0, 4, 6);
  _tile_loadd(7, levels + 16 * deep, 64);
  _tile_dpbssd(1, 4, 7);
}

/** The same in tiles 2 and 3: the numbers of tiles must be constants. */
static inline __attribute__((always_inline)) void multiply_second(const uint8_t *left, const uint8_t *levels, const int deep) {
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(5, left, deep);
  _tile_loadd(6, levels, 64);
  _tile_dpbssd(2, 5, 6);
  _tile_loadd(7, levels + 16 * deep, 64);
  _tile_dpbssd(3, 5, 7);
}

static inline void store_integers(Integers into[2]) {
  _tile_stored(0, into[0].of[0], 64);
  _tile_stored(1, into[0].of[1], 64);
  _tile_stored(2, into[1].of[0], 64);
  _tile_stored(3, into[1].of[1], 64);
}

/** 16 scales or offsets. */
static inline __attribute__((always_inline)) __m512 read_scales(const uint8_t *from, const Coding c, long first) {
  if (!c.halves) return _mm512_loadu_ps(from + first * sizeof(float));
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + first * sizeof(uint16_t))));
}

static inline __attribute__((always_inline)) void add_integers(const Integers *products, const RowScales *rows, const uint8_t *scales,
                                                               const Coding c, RowSums *sums) {
  const __m512 column_scales[2] = {read_scales(scales, c, 0), read_scales(scales, c, 16)};
  __m512 offsets[2];
  for (int tile = 0; tile < 2 && c.offsets; tile++) offsets[tile] = read_scales(scales + scale_bytes(c), c, 16 * tile);
#pragma GCC unroll 8
  for (int row = 0; row < 8; row++) {
    const __m512 row_scale = _mm512_set1_ps(rows->scales[row]), row_sum = _mm512_set1_ps(rows->sums[row]);
#pragma GCC unroll 2
    for (int tile = 0; tile < 2; tile++) {
      const int32_t *high = products->of[tile] + 32 * row, *low = high + 16;
      const __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(high), 8), _mm512_load_si512(low));
      const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), row_scale);
      __m512 sum = _mm512_fmadd_ps(product, column_scales[tile], sums->of[row][tile]);
      if (c.offsets) sum = _mm512_fmadd_ps(row_sum, offsets[tile], sum);
      sums->of[row][tile] = sum;
    }
  }
}

/** Bytes that are to be prefetched while 8 rows are multiplied with some blocks: so many lines for each block. */
typedef struct { const uint8_t *from; long lines; } Ahead;

/** Adds the product of 8 rows and some blocks of a panel, two at a time: while these are multiplied, the two before are added. */
static inline __attribute__((always_inline)) void add_blocks(const uint8_t *left, Right right, long groups, Ahead ahead, const Coding c,
                                                             RowSums *result) {
  Integers products[2];
  RowSums sums = *result; // in registers
  const long rows = rounded_rows_bytes(c.deep);
  for (long group = 0; group < groups + 2; group += 2) {
    if (group < groups) multiply_first(left + group * rows, right_at(right, group).levels, c.deep);
    if (group + 1 < groups) multiply_second(left + (group + 1) * rows, right_at(right, group + 1).levels, c.deep);
    for (long line = group * ahead.lines; line < least(group + 2, groups) * ahead.lines; line++)
      _mm_prefetch((const char *)ahead.from + 64 * line, _MM_HINT_T1);
    for (long i = group - 2; i >= 0 && i < least(group, groups); i++)
      add_integers(&products[i - group + 2], row_scales(left + i * rows, c.deep), right_at(right, i).scales, c, &sums);
    if (group < groups) store_integers(products);
  }
  *result = sums;
}

static void add_products(const uint8_t *left, Right right, long groups, Ahead ahead, Coding c, RowSums *sums) {
  if (c.bits == 8) add_blocks(left, right, groups, ahead, of_8_bits, sums); // one loop for each
  else add_blocks(left, right, groups, ahead, of_4_bits, sums);
}

/** Gives each level of blocks of 4 bits a byte. */
static void expand(const uint8_t *blocks, long groups, long stride, uint8_t *into) {
  const __m512i lower = _mm512_set1_epi8(15);
  for (long group = 0; group < groups; group++, into += EXPANDED)
    for (long i = 0; i < EXPANDED / 2; i += 64) {
      const __m512i both = _mm512_loadu_si512(blocks + group * stride + i);
      _mm512_store_si512(into + i, _mm512_and_si512(both, lower));
      _mm512_store_si512(into + EXPANDED / 2 + i, _mm512_and_si512(_mm512_srli_epi16(both, 4), lower));
    }
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
  uint8_t *left; // `groups` for each 8 rows
  long panels;   // of a task
} IntegerProduct;

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
static void multiply_integers(const IntegerProduct *r, long row, long panel) {
  const Product *p = r->product;
  const Coding c = p->levels->coding;
  const long groups = p->levels->groups, size = coded_bytes(c), chunk = CHUNK_DEPTH / c.deep;
  const long rows = least(BLOCK, p->rows - row), eights = ceiling(rows, 8);
  RowSums sums[BLOCK / 8];
  memset(sums, 0, eights * sizeof *sums);
  if (p->other) add_thin(p->other, row, rows, panel * BLOCK, sums);
  uint8_t expanded[CHUNK_DEPTH / BLOCK * EXPANDED] __attribute__((aligned(64)));
  const uint8_t *left = r->left + row / 8 * groups * rounded_rows_bytes(c.deep);
  for (long start = 0; start < groups; start += chunk) {
    const long count = least(chunk, groups - start);
    const uint8_t *blocks = p->levels->blocks + (panel * groups + start) * size;
    Right right = {blocks, blocks + level_bytes(c), size, size};
    if (c.bits == 4) {
      expand(blocks, count, size, expanded);
      right.levels = expanded;
      right.levels_stride = EXPANDED;
    }
    // While rows are multiplied with these blocks, each eight prefetches its part of those that follow.
    const long lines = ceiling(size, 64 * eights);
    for (long i = 0; i < eights; i++) {
      const Ahead ahead = {blocks + least(chunk, groups) * size + i * count * lines * 64, lines};
      add_products(left + (i * groups + start) * rounded_rows_bytes(c.deep), right, count, ahead, c, sums + i);
    }
  }
  write_sums(p, sums, row, rows, panel * BLOCK);
}

static void multiply_integers_task(void *data, size_t index) {
  const IntegerProduct *r = data;
  const long first = (long)index * r->panels, last = least(first + r->panels, ceiling(r->product->columns, BLOCK));
  configure(r->product->levels->coding.deep);
  for (long row = 0; row < r->product->rows; row += BLOCK)
    for (long panel = first; panel < last; panel++) multiply_integers(r, row, panel);
  _tile_release();
}

/** A part of the depth of 8 rows, and of the columns of their thin product. */
static void round_rows_task(void *data, size_t index) {
  const IntegerProduct *r = data;
  const Product *p = r->product, *down = p->down;
  const int deep = p->levels->coding.deep;
  const long groups = p->levels->groups, eight = (long)index / PARTS, part = (long)index % PARTS, row = 8 * eight;
  for (long group = groups * part / PARTS; group < groups * (part + 1) / PARTS; group++)
    round_rows(p, row, group * deep, deep, r->left + (eight * groups + group) * rounded_rows_bytes(deep));
  if (down) multiply_thin(down, row, least(8, p->rows - row), down->columns * part / PARTS, down->columns * (part + 1) / PARTS);
}

static void *compute_integers(const Product *p, void *context) {
  const Levels *levels = p->levels;
  const long panels = ceiling(p->columns, BLOCK), eights = ceiling(p->rows, 8);
  const Scratch scratch = borrow(eights * levels->groups * rounded_rows_bytes(levels->coding.deep));
  if (!scratch.memory) return out_of_memory();
  const long fitting = GROUP_BYTES / (levels->groups * coded_bytes(levels->coding));
  IntegerProduct r = {p, scratch.memory, least(fitting > 0 ? fitting : 1, ceiling(panels, TASKS))};
  void *status = in_parallel(context, round_rows_task, PARTS * eights, &r);
  if (!status) status = in_parallel(context, multiply_integers_task, ceiling(panels, r.panels), &r);
  give_back(scratch);
  return status;
}
