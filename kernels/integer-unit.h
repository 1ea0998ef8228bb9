// The unit of the processor that multiplies integers: the matrix unit if it has one, otherwise the vector unit.
#pragma once

#if defined __AMX_INT8__
#include "amx-integers.h"
#else
#include "vector-integers.h"
#endif

static void add_products(const uint8_t *left, int64_t rows, Right right, int64_t groups, Ahead ahead, Coding c, RowSums *sums) {
  if (c.bits == 8) add_blocks(left, rows, right, groups, ahead, of_8_bits, sums); // a loop for each
  else add_blocks(left, rows, right, groups, ahead, of_4_bits, sums);
}
