// Whether the processor and the system have what this library is compiled for. Whoever loads it checks what no instruction can tell.
#pragma once

#ifdef __x86_64__
#include <cpuid.h>
#include <stdint.h>

/** Which registers the system saves when it switches between threads. */
static inline uint64_t saved_registers(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static inline int processor_fits(void) {
  enum { SAVES = 1 << 27, FMA = 1 << 12, F16C = 1 << 29, AVX2 = 1 << 5, VECTORS = 6, LONG_VECTORS = 0xe6 };
  enum { AVX512F = 1 << 16, AVX512BW = 1 << 30, VNNI = 1 << 11 };
  unsigned a, b = 0, c = 0, d, basic = 0, wanted = 0, extended = 0;
  uint64_t registers = 0;
#ifdef __AVX2__
  basic = SAVES | FMA | F16C, wanted = AVX2, registers = VECTORS;
#endif
#ifdef __AVX512F__
  wanted |= AVX512F | AVX512BW, registers = LONG_VECTORS;
#endif
#ifdef __AVX512VNNI__
  extended = VNNI;
#endif
  if (!basic) return 1;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & basic) != basic) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & wanted) != wanted || (c & extended) != extended) return 0;
  return (saved_registers() & registers) == registers;
}
#else
static inline int processor_fits(void) { return 1; }
#endif
