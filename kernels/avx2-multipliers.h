// The numbers of a left operand that multiply 16 columns (AVX2): each is read from memory into a whole register.
#pragma once

#include "avx2-tiles.h"
#include "vectors.h"

enum {
  PLACES = 4, // in depth that are multiplied in a row
  HAS_LONG_LOOPS = 0,
};

#define PREFETCH_COLUMNS(from) __builtin_prefetch(from, 0, 3)

typedef const float *Multipliers;

static inline Multipliers multipliers_at(const float *from) { return from; }
static inline __attribute__((always_inline)) Vector add_multiple(Vector sum, Vector numbers, Multipliers x, int place) {
  return fmadd(broadcast(x[place]), numbers, sum);
}
