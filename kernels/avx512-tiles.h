// How products use the 32 registers of AVX-512: for sums of some rows and 32 columns, numbers of a right operand, and numbers of a left one.
#pragma once

#include "product.h"

enum {
  SPAN = 4 * BLOCK, // depth of a panel that stays in a core's first cache while all rows are multiplied with it
  MOST_ROWS = 8,
  FEWER_ROWS = 4, // whose sums are in registers
};
