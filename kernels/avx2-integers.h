// Products of integers on the vector unit of processors without AVX-512 (AVX2). Levels of 8 bits become integers of 16 bits, like those of rows; levels
// of 4 bits are multiplied by rows of 8 bits.
#pragma once

#include "integer-unit-functions.h"

enum { INTEGER_ROWS = 4 }; // whose sums for 16 columns are in registers

static inline __attribute__((always_inline)) int rows_at_once(const Coding c) { return INTEGER_ROWS; }

/** Two levels of each of 8 columns. */
static inline __attribute__((always_inline)) __m256i read_levels(const uint8_t *from) {
  return _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)from));
}

/** Four bytes, eight times. */
static inline __attribute__((always_inline)) __m256i repeat(const uint8_t *from) {
  int32_t bytes;
  memcpy(&bytes, from, sizeof bytes);
  return _mm256_set1_epi32(bytes);
}

/** The same as two intrinsics, with which compilers copy sums between registers. */
static inline __attribute__((always_inline)) void multiply_add(__m256i *sums, __m256i levels, __m256i integers) {
  __m256i products;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(*sums), "=&x"(products) : "x"(levels), "x"(integers));
}

/** The same for bytes, whose products are added in pairs to sums of 16 bits. */
static inline __attribute__((always_inline)) void multiply_add_bytes(__m256i *sums, __m256i levels, __m256i integers) {
  __m256i products;
  __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(*sums), "=&x"(products) : "x"(levels), "x"(integers));
}

/** Sums of the products of some rows and 16 columns of a block. */
static inline __attribute__((always_inline)) void sum_words(const uint8_t *left, const uint8_t *levels, const Coding c, const int rows,
                                                            __m256i sums[INTEGER_ROWS][2]) {
  for (int k = 0; k < c.deep; k += 2) {
    const __m256i lower = read_levels(levels + 16 * k), upper = read_levels(levels + 16 * k + 16);
    UNROLLED
    for (int row = 0; row < rows; row++) {
      const __m256i integers = repeat(left + rounded_row_bytes(c) * row + 2 * k);
      multiply_add(&sums[row][0], lower, integers);
      multiply_add(&sums[row][1], upper, integers);
    }
  }
}

/** The same for levels of 4 bits. 16 bits are enough for the sum of 16 products: 16 · 15 · 127 < 2¹⁵. */
static inline __attribute__((always_inline)) void sum_bytes(const uint8_t *left, const uint8_t *levels, const Coding c, const int rows,
                                                            __m256i sums[INTEGER_ROWS][2]) {
  __asm__("" : "+r"(left)); // else what is repeated is kept in memory for the second tile of a block
  for (int k = 0; k < c.deep; k += 4) {
    const __m256i lower = _mm256_load_si256((const __m256i *)(levels + 16 * k)), upper = _mm256_load_si256((const __m256i *)(levels + 16 * k + 32));
    UNROLLED
    for (int row = 0; row < rows; row++) {
      const __m256i integers = repeat(left + rounded_row_bytes(c) * row + k);
      multiply_add_bytes(&sums[row][0], lower, integers);
      multiply_add_bytes(&sums[row][1], upper, integers);
    }
  }
  const __m256i ones = _mm256_set1_epi16(1);
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = _mm256_madd_epi16(sums[i / 2][i % 2], ones);
}

/** Adds the product of some of eight rows, from `first`, and 16 columns of a block of a panel. */
static inline __attribute__((always_inline)) void add_tile(const uint8_t *left, int first, Right right, int tile, const Coding c, const int rows,
                                                           RowSums *result) {
  const RowScales *scales = row_scales(left, c);
  const uint8_t *levels = right.levels + 16 * c.deep * tile;
  __m256i sums[INTEGER_ROWS][2];
  UNROLLED
  for (int i = 0; i < 2 * rows; i++) sums[i / 2][i % 2] = _mm256_setzero_si256();
  left += rounded_row_bytes(c) * first;
  if (c.row_bytes == 1) sum_bytes(left, levels, c, rows, sums);
  else sum_words(left, levels, c, rows, sums);
  const Vector column_scales = read_scales(right.scales, c, 16 * tile);
  Vector offsets;
  if (c.offsets) offsets = read_scales(right.scales + scale_bytes(c), c, 16 * tile);
  UNROLLED
  for (int row = 0; row < rows; row++) {
    const Vector product = mul(ints_to_floats((Ints){sums[row][0], sums[row][1]}), broadcast(scales->scales[first + row]));
    Vector sum = fmadd(product, column_scales, result->of[first + row][tile]);
    if (c.offsets) sum = fmadd(broadcast(scales->sums[first + row]), offsets, sum);
    result->of[first + row][tile] = sum;
  }
}

static inline __attribute__((always_inline)) void add_block(const uint8_t *left, int first, Right right, const Coding c, const int rows,
                                                            RowSums *result) {
  for (int tile = 0; tile < 2; tile++) add_tile(left, first, right, tile, c, rows, result);
}
