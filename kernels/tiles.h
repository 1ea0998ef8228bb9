// Multiplies strips and panels in the registers of the matrix unit.
#pragma once

#include <immintrin.h>
#include <string.h>
#include "packing.h"

/** Gives tiles 4 and 5, of left operands, rows of so many bytes, and 6 and 7, of right ones, as many rows as fit: with 64 all tiles are full. */
static void configure(int bytes) {
  struct { uint8_t palette, start, reserved[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } __attribute__((aligned(64))) tiles;
  memset(&tiles, 0, sizeof tiles);
  tiles.palette = 1;
  for (int i = 0; i < 8; i++) {
    tiles.row_bytes[i] = i == 4 || i == 5 ? bytes : 64;
    tiles.rows[i] = i >= 6 ? bytes / 4 : 16;
  }
  _tile_loadconfig(&tiles);
}

/** A block of the result. Blocks at its edges are computed elsewhere and copied. */
typedef struct {
  const float *base; // what products are added to, or null
  float *into;
  long stride, rows, columns;
} Target;

/** A strip of the left operand and a panel of the right one, of `blocks` blocks each. Those of the panel have `right_size` numbers. */
typedef struct { const bfloat16 *left, *right; long blocks, right_size; } Factors;

static inline void load_rights(const bfloat16 *right) {
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
  for (long block = 0; block < f.blocks; block++, f.left += WHOLE, f.right += f.right_size) {
    _tile_loadd(4, f.left + HIGH, 64);
    _tile_loadd(5, f.left + HIGH + TILE, 64);
    load_rights(f.right);
    multiply_four();
    _tile_loadd(4, f.left, 64);
    _tile_loadd(5, f.left + TILE, 64);
    multiply_four();
    if (f.right_size == HIGH) continue;
    load_rights(f.right + HIGH);
    multiply_four();
  }
}

/** The same for up to 16 rows, with two sums for each of two tiles, because sums in a row have to wait for each other. */
static inline void add_half_product(Factors f) {
  for (long block = 0; block < f.blocks; block++, f.left += WHOLE, f.right += f.right_size) {
    _tile_loadd(4, f.left, 64);
    _tile_loadd(5, f.left + HIGH, 64);
    load_rights(f.right);
    multiply_four();
    if (f.right_size == HIGH) continue;
    load_rights(f.right + HIGH);
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

static inline void load_tiles(const float *from, long stride) {
  _tile_loadd(0, from, stride * sizeof(float));
  _tile_loadd(1, from + 16, stride * sizeof(float));
  _tile_loadd(2, from + 16 * stride, stride * sizeof(float));
  _tile_loadd(3, from + 16 * stride + 16, stride * sizeof(float));
}

static inline void store_tiles(float *into, long stride) {
  _tile_stored(0, into, stride * sizeof(float));
  _tile_stored(1, into + 16, stride * sizeof(float));
  _tile_stored(2, into + 16 * stride, stride * sizeof(float));
  _tile_stored(3, into + 16 * stride + 16, stride * sizeof(float));
}

/** Computes a block of the result: the base and two products, the second of which may be empty. */
static void multiply(Factors first, Factors second, Target t) {
  if (t.rows == BLOCK && t.columns == BLOCK) {
    if (t.base) load_tiles(t.base, t.stride);
    else clear_tiles();
    add_product(first);
    add_product(second);
    store_tiles(t.into, t.stride);
    return;
  }
  float edge[BLOCK * BLOCK] __attribute__((aligned(64)));
  clear_tiles();
  if (t.rows > 16) {
    add_product(first);
    add_product(second);
    store_tiles(edge, BLOCK);
  } else {
    add_half_product(first);
    add_half_product(second);
    store_tiles(edge, BLOCK);
  }
  for (long row = 0; row < t.rows; row++)
    for (long half = 0; half < BLOCK; half += 16) {
      const __mmask16 mask = mask_of(t.columns - half);
      const long place = row * t.stride + half;
      __m512 sum = _mm512_load_ps(edge + row * BLOCK + half);
      if (t.rows <= 16) sum = _mm512_add_ps(sum, _mm512_load_ps(edge + (16 + row) * BLOCK + half));
      if (t.base) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, t.base + place));
      _mm512_mask_storeu_ps(t.into + place, mask, sum);
    }
}
