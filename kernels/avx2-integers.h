// Products of integers on the vector unit of processors without AVX-512 (AVX2): levels become integers of 16 bits, as those of rows are.
#pragma once

#include "integer-unit.h"

enum { INTEGER_ROWS = 4 }; // whose sums for 16 columns are in registers

static void start_integers(int deep) {}
static void stop_integers(void) {}

/** Two levels of each of 8 columns. */
static inline __attribute__((always_inline)) __m256i read_levels(const uint8_t *from) {
  return _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)from));
}

static inline __attribute__((always_inline)) __m256i repeat_two(const uint8_t *from) {
  int32_t words;
  memcpy(&words, from, sizeof words);
  return _mm256_set1_epi32(words);
}

/** The same as two intrinsics, for which compilers copy sums from register to register. */
static inline __attribute__((always_inline)) void multiply_add(__m256i *sums, __m256i levels, __m256i integers) {
  __m256i products;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(*sums), "=&x"(products) : "x"(levels), "x"(integers));
}

/** Adds the product of four rows of eight, from `first`, and 16 columns of a block of a panel. */
static inline __attribute__((always_inline)) void add_tile(const uint8_t *left, int first, Right right, int tile, const Coding c, RowSums *result) {
  const RowScales *rows = row_scales(left, c.deep);
  const uint8_t *levels = right.levels + 16 * c.deep * tile;
  __m256i sums[INTEGER_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * INTEGER_ROWS; i++) sums[i / 2][i % 2] = _mm256_setzero_si256();
  left += 2 * c.deep * first;
  for (int k = 0; k < c.deep; k += 2) {
    const __m256i lower = read_levels(levels + 16 * k), upper = read_levels(levels + 16 * k + 16);
    UNROLLED
    for (int row = 0; row < INTEGER_ROWS; row++) {
      const __m256i integers = repeat_two(left + 2 * c.deep * row + 2 * k);
      multiply_add(&sums[row][0], lower, integers);
      multiply_add(&sums[row][1], upper, integers);
    }
  }
  const Vector column_scales = read_scales(right.scales, c, 16 * tile);
  Vector offsets;
  if (c.offsets) offsets = read_scales(right.scales + scale_bytes(c), c, 16 * tile);
  UNROLLED
  for (int row = 0; row < INTEGER_ROWS; row++) {
    const Vector product = times(from_wholes((Wholes){sums[row][0], sums[row][1]}), all(rows->scales[first + row]));
    Vector sum = times_plus(product, column_scales, result->of[first + row][tile]);
    if (c.offsets) sum = times_plus(all(rows->sums[first + row]), offsets, sum);
    result->of[first + row][tile] = sum;
  }
}

static inline __attribute__((always_inline)) void add_blocks(const uint8_t *left, long rows, Right right, long groups, Ahead ahead, const Coding c,
                                                             RowSums *result) {
  for (int first = 0; first < rows; first += INTEGER_ROWS)
    for (long group = 0; group < groups; group++) {
      for (int tile = 0; tile < 2; tile++) add_tile(left + group * rounded_rows_bytes(c.deep), first, right_at(right, group), tile, c, result);
      for (long line = group * ahead.lines; first == 0 && line < (group + 1) * ahead.lines; line++)
        __builtin_prefetch((const char *)ahead.from + 64 * line, 0, 3);
    }
}
