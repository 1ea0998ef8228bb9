// UNROLLED before a loop that has a fixed number of turns, up to 16, unrolls it, so that arrays of vectors are registers.
#pragma once

#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif
#ifdef __clang__
#define UNROLLED_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define UNROLLED_TWICE _Pragma("GCC unroll 2")
#endif
