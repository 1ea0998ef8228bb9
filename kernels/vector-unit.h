// Blocks of results on a vector unit, whose products are those of avx512-products.h or vector-products.h.
#pragma once

#include <string.h>
#ifdef __AVX512F__
#include "avx512-products.h"
#else
#include "vector-products.h"
#endif

static void start_unit(void) {}
static void stop_unit(void) {}

static void multiply(Factors first, Factors second, Target t) {
  float sums[BLOCK * BLOCK] __attribute__((aligned(64)));
  memset(sums, 0, t.rows * BLOCK * sizeof *sums);
  // Prefetches the memory of the result while sums are computed.
  for (int64_t row = 0; row < t.rows; row++)
    for (int half = 0; half < 2; half++) {
      __builtin_prefetch(t.into + row * t.stride + 16 * half, 1, 3);
      if (t.base) __builtin_prefetch(t.base + row * t.stride + 16 * half, 0, 3);
    }
  add_product(first, t.rows, t.columns, sums);
  add_product(second, t.rows, t.columns, sums);
  for (int64_t row = 0; row < t.rows; row++)
    for (int half = 0; half < 2; half++) {
      const int64_t count = t.columns - 16 * half, place = row * t.stride + 16 * half;
      Vector sum = load(sums + row * BLOCK + 16 * half);
      if (t.base) sum = add(sum, load_first(count, t.base + place));
      store_first(count, t.into + place, sum);
    }
}
