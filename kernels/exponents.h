// Computes absolute values, exponents and mantissas from the bits of numbers, for units without instructions for it: avx2-vectors.h and quarter-vectors.h.
#pragma once

static inline Vector absolute(Vector x) { return as_floats(bits_and(as_ints(x), broadcast_ints(INT32_MAX))); }

static inline Vector power_of_two(Ints n) { return as_floats(shift_left(add_ints(n, broadcast_ints(127)), 23)); }

/** In two steps, since the power alone may be too large or too small for a number. For |n| < 250. */
static inline Vector scalef(Vector x, Vector n) {
  const Ints whole = round_to_ints(n), half = round_to_ints(mul(n, broadcast(0.5f)));
  return mul(mul(x, power_of_two(half)), power_of_two(sub_ints(whole, half)));
}

enum { RAISED = 24 };

/** |x|, times 2^RAISED where its bits would have no exponent. */
static inline Vector raised(Vector x, Mask *tiny) {
  const Vector size = absolute(x);
  *tiny = gt(broadcast(0x1p-126f), size);
  return blend(*tiny, mul(size, broadcast(1 << RAISED)), size);
}

static inline Vector exponent(Vector x) {
  Mask tiny;
  const Vector size = absolute(x), infinity = broadcast(__builtin_inff()), bits = ints_to_floats(shift_right(as_ints(raised(x, &tiny)), 23));
  const Vector n = sub(bits, blend(tiny, broadcast(127 + RAISED), broadcast(127)));
  return blend(gt(infinity, size), blend(eq(size, broadcast(0)), broadcast(-__builtin_inff()), n), size);
}

static inline Vector mantissa(Vector x) {
  Mask tiny;
  const Ints fraction = bits_and(as_ints(raised(x, &tiny)), broadcast_ints(0x7fffff));
  return blend(ge(x, broadcast(0)), as_floats(bits_or(fraction, as_ints(broadcast(1)))), broadcast(__builtin_nanf("")));
}
