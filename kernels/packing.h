// Splits float32 numbers into two bfloat16 numbers, and lays operands out in tiles: strips of 32 rows of the left one, panels of 32 columns
// of the right one.
#pragma once

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include "product.h"
#include "vectors.h"

typedef struct { __m512i high, low; } Split;

/** Splits 32 numbers, in their order. */
static inline Split split(__m512 first, __m512 second) {
  const __m512i high = (__m512i)_mm512_cvtne2ps_pbh(second, first);
  const __m512 high_first = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)), 16);
  const __m512 high_second = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16);
  const __m512i low = (__m512i)_mm512_cvtne2ps_pbh(_mm512_sub_ps(second, high_second), _mm512_sub_ps(first, high_first));
  return (Split){high, low};
}

/** A tile in two halves, high and low parts of its numbers: 16 rows of 32. */
typedef struct { __m512i high[16], low[16]; } Tile;

/** 16 rows of a matrix, 32 numbers of each; what lies beyond `rows` and `columns` is 0. */
static inline Tile read_rows(const float *from, long stride, long rows, long columns, __m512 scale) {
  const __mmask16 first = mask_of(columns), second = mask_of(columns - 16);
  Tile tile;
  for (long row = 0; row < 16; row++, from += stride) {
    Split parts = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    if (row < rows) {
      for (int ahead = 64; ahead < 96; ahead += 16) _mm_prefetch((const char *)(from + ahead), _MM_HINT_T0);
      parts = split(_mm512_mul_ps(scale, _mm512_maskz_loadu_ps(first, from)),
                    _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(second, from + 16)));
    }
    tile.high[row] = parts.high;
    tile.low[row] = parts.low;
  }
  return tile;
}

/** 32 rows of a matrix, 16 numbers of each, in pairs: a row of the tile has the numbers of two rows, in alternation. */
static inline Tile read_pairs(const float *from, long stride, long rows, long columns, __m512 scale) {
  static const bfloat16 order[32] = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleave = _mm512_loadu_si512(order);
  const __mmask16 mask = mask_of(columns);
  Tile tile;
  for (long pair = 0; pair < 16; pair++, from += 2 * stride) {
    const __m512 even = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(2 * pair < rows ? mask : 0, from));
    const __m512 odd = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(2 * pair + 1 < rows ? mask : 0, from + stride));
    const Split parts = split(even, odd);
    tile.high[pair] = _mm512_permutexvar_epi16(interleave, parts.high);
    tile.low[pair] = _mm512_permutexvar_epi16(interleave, parts.low);
  }
  return tile;
}

/** Transposes 16 × 16 numbers of 32 bits. */
static inline void transpose(__m512i *rows) {
  __m512i a[16], b[16];
  for (int i = 0; i < 8; i++) {
    a[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    a[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 4; i++) {
    b[4 * i] = _mm512_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm512_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm512_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm512_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    a[i] = _mm512_shuffle_i32x4(b[i], b[4 + i], 0x88);
    a[4 + i] = _mm512_shuffle_i32x4(b[i], b[4 + i], 0xdd);
    a[8 + i] = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0x88);
    a[12 + i] = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0xdd);
  }
  for (int i = 0; i < 8; i++) {
    rows[i] = _mm512_shuffle_i32x4(a[i], a[8 + i], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(a[i], a[8 + i], 0xdd);
  }
}

static inline void store(const Tile *tile, int low, bfloat16 *into) {
  for (int row = 0; row < 16; row++) _mm512_store_si512(into + 32 * row, tile->high[row]);
  for (int row = 0; low && row < 16; row++) _mm512_store_si512(into + HIGH + 32 * row, tile->low[row]);
}

/**
 * Packs a block of an operand. Tiles of a left operand have its rows. Tiles of a right operand have pairs of its rows: transposed, as
 * numbers of 32 bits, these are tiles of its columns.
 * @param stride of the operand in memory
 * @param along whether neighbours in memory are neighbours in depth
 * @param pairs whether tiles have pairs
 * @param size of the packed block: WHOLE, or HIGH without low parts
 * @param width rows of a left operand or columns of a right one, from here to the end. What has no place in the result may hold anything
 */
static inline void pack(const float *from, long stride, int along, int pairs, long size, long width, long depth, float factor,
                        bfloat16 *into) {
  const __m512 scale = _mm512_set1_ps(factor);
  for (long half = 0; half < 2 && 16 * half < width; half++) {
    Tile tile = along ? read_rows(from + 16 * half * stride, stride, width - 16 * half, depth, scale)
                      : read_pairs(from + 16 * half, stride, depth, width - 16 * half, scale);
    if (along == pairs) transpose(tile.high);
    if (along == pairs && size == WHOLE) transpose(tile.low);
    store(&tile, size == WHOLE, into + half * TILE);
  }
}

/** Packs rows as a left operand: up to 32 of them, `depth` numbers of each. */
static void pack_rows(const float *from, long stride, long rows, long depth, float factor, bfloat16 *into) {
  for (long k = 0; k < depth; k += BLOCK, into += WHOLE) pack(from + k, stride, 1, 0, WHOLE, rows, depth - k, factor, into);
}

/** Packs columns as a left operand: strips of 32 of them, each `rows` deep. */
static void pack_columns(const float *from, long stride, long rows, long columns, float factor, bfloat16 *into) {
  for (long column = 0; column < columns; column += BLOCK)
    for (long row = 0; row < rows; row += BLOCK, into += WHOLE)
      pack(from + row * stride + column, stride, 0, 0, WHOLE, columns - column, rows - row, factor, into);
}

/** Packs rows as the columns of a right operand: a panel for each 32 of them. */
static void pack_as_columns(Matrix m, long rows, long depth, float factor, bfloat16 *into) {
  const long size = block_size(m.format);
  float decoded[BLOCK * BLOCK];
  for (long row = 0; row < rows; row += BLOCK)
    for (long k = 0; k < depth; k += BLOCK, into += size) {
      const Matrix block = block_of(m, row, k, rows - row, decoded);
      pack(block.numbers, block.stride, 1, 1, size, rows - row, depth - k, factor, into);
    }
}

/** Packs rows as the depth of a right operand, in the order in which numbers are in memory: a panel for each 32 columns. */
static void pack_as_depth(Matrix m, long rows, long columns, float factor, bfloat16 *into) {
  const long size = block_size(m.format), panel = ceiling(rows, BLOCK) * size;
  float decoded[BLOCK * BLOCK];
  for (long row = 0; row < rows; row += BLOCK, into += size)
    for (long column = 0; column < columns; column += BLOCK) {
      const Matrix block = block_of(m, row, column, rows - row, decoded);
      pack(block.numbers, block.stride, 0, 1, size, columns - column, rows - row, factor, into + column / BLOCK * panel);
    }
}

/** A strip of 32 rows from `row`, for `depth` numbers from `start`. */
static void pack_left(const Product *p, long row, long start, long depth, bfloat16 *into) {
  const long rows = least(BLOCK, p->rows - row);
  if (p->left_transposed) pack_columns(p->left + start * p->rows + row, p->rows, depth, rows, p->alpha, into);
  else pack_rows(p->left + row * p->depth + start, p->depth, rows, depth, p->alpha, into);
}

/** Panels of 32 columns each, from column `first` to `last`. */
static void pack_right(const Product *p, long first, long last, long start, long depth, float factor, bfloat16 *into) {
  if (p->right_transposed) pack_as_columns(part_of(p->right, first, start), last - first, depth, factor, into);
  else pack_as_depth(part_of(p->right, start, first), depth, last - first, factor, into);
}

/** Packs the right operand of a product. `size`, of a block, is WHOLE or HIGH. Returns null if there is no memory. */
static bfloat16 *pack_panels(const Product *p, long size) {
  const long blocks = ceiling(p->depth, BLOCK), panels = ceiling(p->columns, BLOCK), made = block_size(p->right.format);
  bfloat16 *packed = aligned_alloc(64, panels * blocks * size * sizeof(bfloat16));
  bfloat16 *panel = aligned_alloc(64, blocks * made * sizeof(bfloat16));
  bfloat16 *into = packed;
  for (long column = 0; packed && panel && column < p->columns; column += BLOCK) {
    pack_right(p, column, least(p->columns, column + BLOCK), 0, p->depth, 1, panel);
    for (long i = 0; i < blocks; i++, into += size) memcpy(into, panel + i * made, size * sizeof(bfloat16));
  }
  if (!panel) free(packed), packed = 0;
  free(panel);
  return packed;
}

/** Whether all numbers are bfloat16 numbers, as they are in most checkpoints: then they have no low parts. */
static int have_no_low_parts(Matrix m, long count) {
  uint32_t lower = m.format != FLOAT32 && m.format != BFLOAT16;
  for (long i = 0; m.format == FLOAT32 && i < count; i++) {
    uint32_t bits;
    memcpy(&bits, (const float *)m.numbers + i, sizeof bits);
    lower |= bits & 0xffff;
  }
  return lower == 0;
}
