// Products on the matrix unit (AMX), whose registers, tiles, hold 16 rows of 32 bfloat16 numbers.
//
// Each float32 number is split into two bfloat16 numbers, x = high + low, which keep 16 of its 24 bits. The product is
// high·high + high·low + low·high, summed in float32: its relative error is about 4e-6, while that of bfloat16 alone is 2e-3
// (Henry, Tang & Heinecke 2019, arXiv:1904.06376; PyTorch calls this precision "high").
//
// A packed block has 2 × 2 tiles of the high parts, and after them 2 × 2 of the low ones. Tiles of a left operand have its rows. Tiles
// of a right operand have pairs of its rows: transposed, as numbers of 32 bits, these are tiles of its columns.
#pragma once

#include <string.h>
#include "unit-functions.h"

enum {
  TILE = 512, // numbers
  SPAN = BLOCK,
  ROUNDED_BLOCK = HIGH_BLOCK,
  COARSE_BLOCK = ROUNDED_BLOCK,
  COARSE_SPAN = BLOCK,
};

/** Sets the bytes of a row of tiles 4 and 5, the left operands, and the matching rows of 6 and 7, the right ones; with 64 all tiles are full. */
static void configure(int bytes) {
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } __attribute__((aligned(64))) tiles;
  memset(&tiles, 0, sizeof tiles);
  tiles.palette = 1;
  for (int i = 0; i < 8; i++) {
    tiles.row_bytes[i] = i == 4 || i == 5 ? bytes : 64;
    tiles.rows[i] = i >= 6 ? bytes / 4 : 16;
  }
  _tile_loadconfig(&tiles);
}

static void start_unit(void) { configure(64); }
static void stop_unit(void) { _tile_release(); }

typedef struct {
  __m512i high, low;
} Split;

/** Splits 32 numbers, in their order. */
static inline Split split(__m512 first, __m512 second) {
  const __m512i high = (__m512i)_mm512_cvtne2ps_pbh(second, first);
  const __m512 high_first = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)), 16);
  const __m512 high_second = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16);
  const __m512i low = (__m512i)_mm512_cvtne2ps_pbh(_mm512_sub_ps(second, high_second), _mm512_sub_ps(first, high_first));
  return (Split){high, low};
}

/** A tile as two halves, the high and the low parts of its numbers: 16 rows of 32. */
typedef struct {
  __m512i high[16], low[16];
} Tile;

/** 16 rows of a matrix, 32 numbers of each; what lies beyond `rows` and `columns` is 0. */
static inline Tile read_rows(const float *from, int64_t stride, int64_t rows, int64_t columns, __m512 scale) {
  const __mmask16 first = tail_mask(columns), second = tail_mask(columns - 16);
  Tile tile;
  for (int64_t row = 0; row < 16; row++, from += stride) {
    Split parts = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    if (row < rows) {
      for (int ahead = 64; ahead < 96; ahead += 16) _mm_prefetch((const char *)(from + ahead), _MM_HINT_T0);
      parts = split(_mm512_mul_ps(scale, _mm512_maskz_loadu_ps(first, from)), _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(second, from + 16)));
    }
    tile.high[row] = parts.high;
    tile.low[row] = parts.low;
  }
  return tile;
}

/** 32 rows of a matrix, 16 numbers of each, in pairs: a row of the tile has the numbers of two rows, in alternation. */
static inline Tile read_pairs(const float *from, int64_t stride, int64_t rows, int64_t columns, __m512 scale) {
  static const Packed order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                   8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleave = _mm512_loadu_si512(order);
  const __mmask16 mask = tail_mask(columns);
  Tile tile;
  for (int64_t pair = 0; pair < 16; pair++, from += 2 * stride) {
    const __m512 even = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(2 * pair < rows ? mask : 0, from));
    const __m512 odd = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(2 * pair + 1 < rows ? mask : 0, from + stride));
    const Split parts = split(even, odd);
    tile.high[pair] = _mm512_permutexvar_epi16(interleave, parts.high);
    tile.low[pair] = _mm512_permutexvar_epi16(interleave, parts.low);
  }
  return tile;
}

static inline void store_tile(const Tile *tile, int low, Packed *into) {
  for (int row = 0; row < 16; row++) _mm512_store_si512(into + 32 * row, tile->high[row]);
  for (int row = 0; low && row < 16; row++) _mm512_store_si512(into + HIGH_BLOCK + 32 * row, tile->low[row]);
}

static inline void pack(const float *from, int64_t stride, int along, int is_right, int64_t size, int64_t width, int64_t depth, float factor,
                        Packed *into) {
  const __m512 scale = _mm512_set1_ps(factor);
  for (int64_t half = 0; half < 2 && 16 * half < width; half++) {
    Tile tile = along ? read_rows(from + 16 * half * stride, stride, width - 16 * half, depth, scale)
                      : read_pairs(from + 16 * half, stride, depth, width - 16 * half, scale);
    if (along == is_right) transpose(tile.high);
    if (along == is_right && size == WHOLE_BLOCK) transpose(tile.low);
    store_tile(&tile, size == WHOLE_BLOCK, into + half * TILE);
  }
}

/** Numbers of 16 columns of a packed block of a right operand at depths `2 * pair` and `2 * pair + 1`. Prefetches later ones. */
static inline __attribute__((always_inline)) void read_pair(const Packed *block, int64_t size, int64_t half, int64_t pair, __m512 into[2]) {
  const Packed *place = block + half * TILE + pair * 32;
  _mm_prefetch((const char *)(place + AHEAD), _MM_HINT_T0);
  widen_pairs(_mm512_load_si512(place), into);
  if (size == HIGH_BLOCK) return;
  _mm_prefetch((const char *)(place + HIGH_BLOCK + AHEAD), _MM_HINT_T0);
  __m512 low[2];
  widen_pairs(_mm512_load_si512(place + HIGH_BLOCK), low);
  for (int i = 0; i < 2; i++) into[i] = _mm512_add_ps(into[i], low[i]);
}

static inline void load_rights(const Packed *right) {
  _tile_loadd(6, right, 64);
  _tile_loadd(7, right + TILE, 64);
}

static inline void multiply_four(void) {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/** Adds a product to four tiles of 32 rows. */
static inline void add_product(Factors f) {
  for (; f.depth > 0; f.depth -= BLOCK, f.left += f.left_size, f.right += f.right_size) {
    load_rights(f.right);
    if (f.left_size == WHOLE_BLOCK) {
      _tile_loadd(4, f.left + HIGH_BLOCK, 64);
      _tile_loadd(5, f.left + HIGH_BLOCK + TILE, 64);
      multiply_four();
    }
    _tile_loadd(4, f.left, 64);
    _tile_loadd(5, f.left + TILE, 64);
    multiply_four();
    if (f.right_size == HIGH_BLOCK) continue;
    load_rights(f.right + HIGH_BLOCK);
    multiply_four();
  }
}

/** The same for up to 16 rows. Each of two tiles has two sums, because additions to one sum wait for each other. */
static inline void add_half_product(Factors f) {
  for (; f.depth > 0; f.depth -= BLOCK, f.left += f.left_size, f.right += f.right_size) {
    _tile_loadd(4, f.left, 64);
    load_rights(f.right);
    if (f.left_size == WHOLE_BLOCK) {
      _tile_loadd(5, f.left + HIGH_BLOCK, 64);
      multiply_four();
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (f.right_size == HIGH_BLOCK) continue;
    load_rights(f.right + HIGH_BLOCK);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
}

static inline void clear_tiles(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

static inline void load_tiles(const float *from, int64_t stride) {
  _tile_loadd(0, from, stride * sizeof(float));
  _tile_loadd(1, from + 16, stride * sizeof(float));
  _tile_loadd(2, from + 16 * stride, stride * sizeof(float));
  _tile_loadd(3, from + 16 * stride + 16, stride * sizeof(float));
}

static inline void store_tiles(float *into, int64_t stride) {
  _tile_stored(0, into, stride * sizeof(float));
  _tile_stored(1, into + 16, stride * sizeof(float));
  _tile_stored(2, into + 16 * stride, stride * sizeof(float));
  _tile_stored(3, into + 16 * stride + 16, stride * sizeof(float));
}

static void multiply(Factors first, Factors second, Target t) {
  if (t.rows == BLOCK && t.columns == BLOCK && !t.batch_invariant) {
    if (t.base) load_tiles(t.base, t.stride);
    else clear_tiles();
    add_product(first);
    add_product(second);
    store_tiles(t.into, t.stride);
    return;
  }
  float edge[BLOCK * BLOCK] __attribute__((aligned(64)));
  const int in_halves = t.rows <= 16 && !t.batch_invariant;
  clear_tiles();
  if (!in_halves) {
    add_product(first);
    add_product(second);
    store_tiles(edge, BLOCK);
  } else {
    add_half_product(first);
    add_half_product(second);
    store_tiles(edge, BLOCK);
  }
  for (int64_t row = 0; row < t.rows; row++)
    for (int64_t half = 0; half < BLOCK; half += 16) {
      const __mmask16 mask = tail_mask(t.columns - half);
      const int64_t place = row * t.stride + half;
      __m512 sum = _mm512_load_ps(edge + row * BLOCK + half);
      if (in_halves) sum = _mm512_add_ps(sum, _mm512_load_ps(edge + (16 + row) * BLOCK + half));
      if (t.base) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, t.base + place));
      _mm512_mask_storeu_ps(t.into + place, mask, sum);
    }
}
