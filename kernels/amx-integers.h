// Products of integers on the matrix unit (AMX).
#pragma once

#include "amx-products.h"
#include "integer-unit-functions.h"

static void start_integers(int deep) { configure(deep); }
static void stop_integers(void) { _tile_release(); }

/** Products of integers in two tiles. */
typedef struct {
  int32_t of[2][256];
} __attribute__((aligned(64))) Integers;

/** Multiplies 8 rows and a block in two tiles. A macro, because the numbers of tiles must be literals. */
#define MULTIPLY_BLOCK(first_sum, second_sum, rows, left, levels, deep) \
  do { \
    _tile_zero(first_sum); \
    _tile_zero(second_sum); \
    _tile_loadd(rows, left, deep); \
    _tile_loadd(6, levels, 64); \
    _tile_dpbssd(first_sum, rows, 6); \
    _tile_loadd(7, (levels) + 16 * (deep), 64); \
    _tile_dpbssd(second_sum, rows, 7); \
  } while (0)

static inline void store_integers(Integers into[2]) {
  _tile_stored(0, into[0].of[0], 64);
  _tile_stored(1, into[0].of[1], 64);
  _tile_stored(2, into[1].of[0], 64);
  _tile_stored(3, into[1].of[1], 64);
}

static inline __attribute__((always_inline)) void add_integers(const Integers *products, const RowScales *rows, const uint8_t *scales, const Coding c,
                                                               RowSums *sums) {
  const __m512 column_scales[2] = {read_scales(scales, c, 0), read_scales(scales, c, 16)};
  __m512 offsets[2];
  for (int tile = 0; tile < 2 && c.offsets; tile++) offsets[tile] = read_scales(scales + scale_bytes(c), c, 16 * tile);
  UNROLLED
  for (int row = 0; row < 8; row++) {
    const __m512 row_scale = _mm512_set1_ps(rows->scales[row]), row_sum = _mm512_set1_ps(rows->sums[row]);
    UNROLLED
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

/** Multiplies two blocks while it adds the two before. Rows beyond the last are multiplied too. */
static inline __attribute__((always_inline)) void add_blocks(const uint8_t *left, int64_t rows, Right right, int64_t groups, Ahead ahead,
                                                             const Coding c, RowSums *result) {
  Integers products[2];
  RowSums sums = *result; // in registers
  const int64_t size = eight_rows_bytes(c);
  for (int64_t group = 0; group < groups + 2; group += 2) {
    if (group < groups) MULTIPLY_BLOCK(0, 1, 4, left + group * size, right_at(right, group).levels, c.deep);
    if (group + 1 < groups) MULTIPLY_BLOCK(2, 3, 5, left + (group + 1) * size, right_at(right, group + 1).levels, c.deep);
    for (int64_t line = group * ahead.lines; line < least(group + 2, groups) * ahead.lines; line++)
      _mm_prefetch((const char *)ahead.from + 64 * line, _MM_HINT_T1);
    for (int64_t i = group - 2; i >= 0 && i < least(group, groups); i++)
      add_integers(&products[i - group + 2], row_scales(left + i * size, c), right_at(right, i).scales, c, &sums);
    if (group < groups) store_integers(products);
  }
  *result = sums;
}
