// Functions of 16 numbers at once, in one or more registers: those of the processor, and some built on them.
//
// avx512-vectors.h, avx2-vectors.h and quarter-vectors.h have the same functions:
//
//   Vector              16 float32 numbers; Ints: 16 integers of 32 bits; Bytes: 16 of 8 bits; Mask: 16 truth values
//   REGISTERS           how many vectors the registers hold
//   tail_mask           true for the first `count` of 16
//   broadcast           one number 16 times
//   blend, masked       numbers of `a` where the mask is true, otherwise those of `b`, or 0
//   load_first          the first `count` of 16 numbers from memory, and zeros; nothing else is read. `store_first` writes those alone
//   fmadd               a · b + c, rounded once; fmsub: a · b − c; fnmadd: c − a · b
//   maximum, minimum    the second operand if either is NaN
//   hsum, hmax, hmin    the sum, the largest and the smallest of 16 numbers
//   scalef              x · 2ⁿ
//   exponent            the n of |x| = 2ⁿ · mantissa, where 1 ≤ mantissa < 2: −∞ of zero, ∞ of ∞. The mantissa of numbers below zero is NaN
//   as_ints             the bits of numbers; round_to_ints: the integers that are nearest to them
//   bit_for_each        one of 16 bits in each lane
//   store_lowest_bytes  the lowest byte of each integer
//   from_halves         16 numbers that are stored as float16; from_bfloat16: as bfloat16; broadcast_half: one of them 16 times; store_halves: stores them as float16
//   transpose           16 × 16 numbers of 32 bits, in place
//   sum_each            the sums of 16 vectors
#pragma once

#include <stdint.h>
#include "unrolled.h"

#ifdef __AVX512F__
#include "avx512-vectors.h"
#elif defined __AVX2__
#include "avx2-vectors.h"
#else
#include "quarter-vectors.h"
#endif

/** The larger absolute value, as bits: positive numbers have the same order, and after them come infinity and NaN. */
static inline Ints max_abs(Ints most, Vector x) { return max_ints(most, as_ints(absolute(x))); }

static inline Vector negate(Vector x) { return as_floats(bits_xor(as_ints(x), broadcast_ints(INT32_MIN))); }

/** NaN if either is. */
static inline Vector max_or_nan(Vector a, Vector b) { return blend(is_nan(a), a, maximum(a, b)); }
static inline Vector min_or_nan(Vector a, Vector b) { return blend(is_nan(a), a, minimum(a, b)); }

/** The largest of some numbers; NaN may be passed over. */
static inline float array_max(const float *numbers, int64_t count) {
  const Vector lowest = broadcast(-__builtin_inff());
  Vector most = lowest;
  for (int64_t i = 0; i < count; i += 16) most = maximum(most, blend(tail_mask(count - i), load_first(count - i, numbers + i), lowest));
  return hmax(most);
}

static inline void scale_row(float *row, int64_t size, float factor) {
  for (int64_t i = 0; i < size; i += 16) store_first(size - i, row + i, mul(broadcast(factor), load_first(size - i, row + i)));
}

/** exp(x) = 2ⁿ · (1 + rest), where |x − n · log 2| ≤ log 2 / 2. The rest is a Taylor series, exact to 6e-9. */
static inline Vector exponential_parts(Vector x, Vector *rest) {
  const Vector n = round_nearest(mul(x, broadcast(1.44269504f)));
  // log 2 as the sum of two numbers, the first of which has few bits, so that its multiples are exact.
  const Vector r = fnmadd(n, broadcast(-2.12194440e-4f), fnmadd(n, broadcast(0.693359375f), x));
  Vector sum = broadcast(1.0f / 5040);
  sum = fmadd(sum, r, broadcast(1.0f / 720));
  sum = fmadd(sum, r, broadcast(1.0f / 120));
  sum = fmadd(sum, r, broadcast(1.0f / 24));
  sum = fmadd(sum, r, broadcast(1.0f / 6));
  sum = fmadd(sum, r, broadcast(0.5f));
  *rest = fmadd(mul(sum, r), r, r);
  return n;
}

static inline Vector exponential(Vector x) {
  Vector rest;
  // Beyond these limits the result is infinite or zero.
  const Vector n = exponential_parts(maximum(broadcast(-150), minimum(broadcast(150), x)), &rest);
  return scalef(add(broadcast(1), rest), n);
}

static inline Vector sigmoid(Vector x) { return divide(broadcast(1), add(broadcast(1), exponential(negate(x)))); }

/** e / (e + 2), where e = exp(2 |x|) − 1, with the sign of x. */
static inline Vector hyperbolic_tangent(Vector x) {
  Vector rest;
  const Vector size = minimum(broadcast(20), absolute(x));
  const Vector n = exponential_parts(add(size, size), &rest), power = scalef(broadcast(1), n);
  const Vector e = fmadd(power, rest, sub(power, broadcast(1)));
  const Vector result = divide(e, add(e, broadcast(2)));
  return as_floats(bits_or(as_ints(result), bits_and(as_ints(x), broadcast_ints(INT32_MIN))));
}

/** x = 2ⁿ · (1 + f), where 1 + f lies between √½ and √2; log(1 + f) is a polynomial: Moshier 1989, the Cephes library. */
static inline Vector logarithm(Vector x) {
  const Vector whole = mantissa(x), power = exponent(x);
  const Mask is_large = gt(whole, broadcast(1.41421356f));
  const Vector n = blend(is_large, add(power, broadcast(1)), power);
  const Vector f = sub(blend(is_large, mul(whole, broadcast(0.5f)), whole), broadcast(1));
  Vector sum = broadcast(7.0376836292e-2f);
  sum = fmadd(sum, f, broadcast(-1.1514610310e-1f));
  sum = fmadd(sum, f, broadcast(1.1676998740e-1f));
  sum = fmadd(sum, f, broadcast(-1.2420140846e-1f));
  sum = fmadd(sum, f, broadcast(1.4249322787e-1f));
  sum = fmadd(sum, f, broadcast(-1.6668057665e-1f));
  sum = fmadd(sum, f, broadcast(2.0000714765e-1f));
  sum = fmadd(sum, f, broadcast(-2.4999993993e-1f));
  sum = fmadd(sum, f, broadcast(3.3333331174e-1f));
  const Vector square = mul(f, f);
  Vector small = fmadd(n, broadcast(-2.12194440e-4f), mul(mul(sum, f), square));
  small = fnmadd(broadcast(0.5f), square, small);
  const Vector result = fmadd(n, broadcast(0.693359375f), add(f, small));
  // The exponents of zero and of infinity are infinite: those are the results. The mantissa of numbers below zero is NaN.
  const Mask infinite = mask_and(eq(absolute(power), broadcast(__builtin_inff())), ge(x, broadcast(0)));
  return blend(infinite, power, result);
}
