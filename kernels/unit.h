// The unit of the processor that multiplies: the matrix unit if it has one, otherwise the vector unit. The compiler's flags decide.
#pragma once

#ifdef __AMX_TILE__
#include "amx-products.h"
#else
#include "vector-unit.h"
#endif

/** The sizes of packed blocks of a left operand, and of a right one in some format. */
static inline int64_t left_size(Rounding r) { return r == ROUNDED_COARSELY ? COARSE_BLOCK : r == ROUNDED ? ROUNDED_BLOCK : WHOLE_BLOCK; }
static inline int64_t right_size(Format format, Rounding r) { return r == NOT_ROUNDED && format == BFLOAT16 ? HIGH_BLOCK : left_size(r); }
