// Functions of 16 numbers at once, in one or more registers: those of the processor, and some built on them.
//
// avx512-vectors.h and avx2-vectors.h have the same functions:
//
//   Vector            16 float32 numbers; Wholes: 16 integers of 32 bits; Bytes: 16 of 8 bits; Mask: 16 truth values
//   REGISTERS         how many vectors the registers hold
//   mask_of           true for the first `count` of 16
//   all               one number 16 times; over: a / b
//   choose, only      numbers of `a` where the mask is true, otherwise those of `b`, or 0
//   load_first        the first `count` of 16 numbers from memory, and zeros; nothing else is read. `store_first` writes those alone
//   times_plus        a · b + c, rounded once; times_minus: a · b − c; minus_times: c − a · b
//   maximum, minimum  the second operand if either is not a number
//   times_power       x · 2ⁿ
//   exponent          the n of |x| = 2ⁿ · mantissa, where 1 ≤ mantissa < 2: −∞ of zero, ∞ of ∞. The mantissa of numbers below zero is none
//   as_wholes         the bits of numbers; nearest_wholes: the integers that are nearest to them
//   bit_for_each      one of 16 bits in each lane
//   store_lowest_bytes  the lowest byte of each integer
//   from_halves       16 numbers that are stored as float16; from_bfloat16: as bfloat16; all_half: one of them 16 times; store_halves: stores them as float16
//   transpose         16 × 16 numbers of 32 bits, in place
//   sum_each          the sums of 16 vectors
#pragma once

#include <stdint.h>
#include "unrolled.h"

#ifdef __AVX512F__
#include "avx512-vectors.h"
#else
#include "avx2-vectors.h"
#endif

/** The larger size of numbers, as bits: positive numbers have the same order, and after them come infinity and what is not a number. */
static inline Wholes larger_size(Wholes most, Vector x) { return most_wholes(most, as_wholes(absolute(x))); }

static inline Vector negative(Vector x) { return as_numbers(bits_xor(as_wholes(x), all_wholes(INT32_MIN))); }

/** Not a number if either is none. */
static inline Vector largest(Vector a, Vector b) { return choose(no_numbers(a), a, maximum(a, b)); }
static inline Vector smallest(Vector a, Vector b) { return choose(no_numbers(a), a, minimum(a, b)); }

/** The largest of some numbers; what is not a number may be passed over. */
static inline float largest_of(const float *numbers, long count) {
  const Vector lowest = all(-__builtin_inff());
  Vector most = lowest;
  for (long i = 0; i < count; i += 16) most = maximum(most, choose(mask_of(count - i), load_first(count - i, numbers + i), lowest));
  return most_of(most);
}

static inline void scale_row(float *row, long size, float factor) {
  for (long i = 0; i < size; i += 16) store_first(size - i, row + i, times(all(factor), load_first(size - i, row + i)));
}

/** exp(x) = 2ⁿ · (1 + rest), where |x − n · log 2| ≤ log 2 / 2. The rest is a Taylor series, exact to 6e-9. */
static inline Vector exponential_parts(Vector x, Vector *rest) {
  const Vector n = nearest(times(x, all(1.44269504f)));
  // log 2 as the sum of two numbers, the first of which has few bits, so that its multiples are exact.
  const Vector r = minus_times(minus_times(x, n, all(0.693359375f)), n, all(-2.12194440e-4f));
  Vector sum = all(1.0f / 5040);
  sum = times_plus(sum, r, all(1.0f / 720));
  sum = times_plus(sum, r, all(1.0f / 120));
  sum = times_plus(sum, r, all(1.0f / 24));
  sum = times_plus(sum, r, all(1.0f / 6));
  sum = times_plus(sum, r, all(0.5f));
  *rest = times_plus(times(sum, r), r, r);
  return n;
}

static inline Vector exponential(Vector x) {
  Vector rest;
  // Beyond these limits the result is infinite or zero.
  const Vector n = exponential_parts(maximum(all(-150), minimum(all(150), x)), &rest);
  return times_power(plus(all(1), rest), n);
}

static inline Vector sigmoid(Vector x) { return over(all(1), plus(all(1), exponential(negative(x)))); }

/** e / (e + 2), where e = exp(2 |x|) − 1, with the sign of x. */
static inline Vector hyperbolic_tangent(Vector x) {
  Vector rest;
  const Vector size = minimum(all(20), absolute(x));
  const Vector n = exponential_parts(plus(size, size), &rest), power = times_power(all(1), n);
  const Vector e = times_plus(power, rest, minus(power, all(1)));
  const Vector result = over(e, plus(e, all(2)));
  return as_numbers(bits_or(as_wholes(result), bits_and(as_wholes(x), all_wholes(INT32_MIN))));
}

/** x = 2ⁿ · (1 + f), where 1 + f lies between √½ and √2; log(1 + f) is a polynomial: Moshier 1989, the Cephes library. */
static inline Vector logarithm(Vector x) {
  const Vector whole = mantissa(x), power = exponent(x);
  const Mask is_large = above(whole, all(1.41421356f));
  const Vector n = choose(is_large, plus(power, all(1)), power);
  const Vector f = minus(choose(is_large, times(whole, all(0.5f)), whole), all(1));
  Vector sum = all(7.0376836292e-2f);
  sum = times_plus(sum, f, all(-1.1514610310e-1f));
  sum = times_plus(sum, f, all(1.1676998740e-1f));
  sum = times_plus(sum, f, all(-1.2420140846e-1f));
  sum = times_plus(sum, f, all(1.4249322787e-1f));
  sum = times_plus(sum, f, all(-1.6668057665e-1f));
  sum = times_plus(sum, f, all(2.0000714765e-1f));
  sum = times_plus(sum, f, all(-2.4999993993e-1f));
  sum = times_plus(sum, f, all(3.3333331174e-1f));
  const Vector square = times(f, f);
  Vector small = times_plus(n, all(-2.12194440e-4f), times(times(sum, f), square));
  small = minus_times(small, all(0.5f), square);
  const Vector result = times_plus(n, all(0.693359375f), plus(f, small));
  // The exponents of zero and of infinity are infinite: those are the results. Numbers below zero have a mantissa that is none.
  const Mask infinite = both(equal(absolute(power), all(__builtin_inff())), at_least(x, all(0)));
  return choose(infinite, power, result);
}
