// Right operands that are kept as integers of 8 bits.
#pragma once

#include <immintrin.h>
#include <math.h>
#include "packing.h"

// Panels of a right operand can be kept as integers of 8 bits, in the order of their tiles. The 64 numbers that are two blocks of a column
// share a scale, with which the largest becomes ±127.

enum { SHARING = 2 * BLOCK, LEVELS = 127 };

static float element(const Product *p, long row, long column) {
  if (row >= p->depth || column >= p->columns) return 0;
  return p->right_transposed ? p->right[column * p->depth + row] : p->right[row * p->columns + column];
}

/** Rounds the panel from `first`. `into` has BLOCK · BLOCK bytes for each block and `scales` BLOCK numbers for each two of them. */
static void round_panel(const Product *p, long first, int8_t *into, float *scales) {
  for (long start = 0; start < p->depth; start += SHARING, scales += BLOCK)
    for (long column = 0; column < BLOCK; column++) {
      float largest = 0;
      for (long k = 0; k < SHARING; k++) {
        const float x = fabsf(element(p, start + k, first + column));
        if (x > largest) largest = x;
      }
      scales[column] = largest / LEVELS;
      const float inverse = largest > 0 ? LEVELS / largest : 0;
      for (long k = 0; k < SHARING && start + k < ceiling(p->depth, BLOCK) * BLOCK; k++) {
        int8_t *block = into + (start + k) / BLOCK * BLOCK * BLOCK;
        const long place = column / 16 * TILE + k % BLOCK / 2 * 32 + column % 16 * 2 + k % 2;
        block[place] = (int8_t)lrintf(element(p, start + k, first + column) * inverse);
      }
    }
}

/** Rounds the right operand of a product into new memory, which the caller frees. Returns 0 if there is none. */
static int round_panels(const Product *p, int8_t **into, float **scales) {
  const long panels = ceiling(p->columns, BLOCK), blocks = ceiling(p->depth, BLOCK), groups = ceiling(p->depth, SHARING);
  *into = malloc(panels * blocks * BLOCK * BLOCK);
  *scales = malloc(panels * groups * BLOCK * sizeof(float));
  if (!*into || !*scales) return 0;
  for (long panel = 0; panel < panels; panel++)
    round_panel(p, panel * BLOCK, *into + panel * blocks * BLOCK * BLOCK, *scales + panel * groups * BLOCK);
  return 1;
}

/** 16 integers as numbers: two of each of 8 columns. */
static inline __m512 integers(const int8_t *from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
}

/** The scales of a tile's columns, each twice: those of the first 8 columns, or of the last. */
static inline __m512 scales_of(const float *scales, int last) {
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_permutexvar_ps(_mm512_add_epi32(twice, _mm512_set1_epi32(last ? 8 : 0)), _mm512_loadu_ps(scales));
}

/** Makes the high parts of panels, from `column` to `end`, out of what was rounded: those of `blocks` blocks from `start`. */
static void expand_panels(const Product *p, long column, long end, long start, long blocks, bfloat16 *into) {
  const long all = ceiling(p->depth, BLOCK), groups = ceiling(p->depth, SHARING);
  for (long panel = column / BLOCK; panel * BLOCK < end; panel++)
    for (long block = start / BLOCK; block < start / BLOCK + blocks; block++) {
      const int8_t *from = p->rounded + (panel * all + block) * BLOCK * BLOCK;
      const float *scales = p->scales + (panel * groups + block * BLOCK / SHARING) * BLOCK;
      for (long tile = 0; tile < 2; tile++) {
        const __m512 of_first = scales_of(scales + 16 * tile, 0), of_last = scales_of(scales + 16 * tile, 1);
        for (long pair = 0; pair < 16; pair++, from += 32, into += 32) {
          if (pair % 2 == 0) _mm_prefetch((const char *)(from + AHEAD), _MM_HINT_T0);
          const __m512 first = _mm512_mul_ps(integers(from), of_first), last = _mm512_mul_ps(integers(from + 16), of_last);
          _mm512_store_si512(into, (__m512i)_mm512_cvtne2ps_pbh(last, first));
        }
      }
    }
}
