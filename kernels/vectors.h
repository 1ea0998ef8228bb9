// Functions of 16 float32 numbers at once, with relative errors of about 1e-7. What is not a number stays none.
#pragma once

#include <immintrin.h>
#include <stdint.h>

typedef __m512 Vector;

/** The first `count` of 16 numbers; all if there are more. */
static inline __mmask16 mask_of(long count) { return count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1; }

static inline Vector all(float x) { return _mm512_set1_ps(x); }
static inline __m512i sign_bits(void) { return _mm512_set1_epi32(INT32_MIN); }
static inline Vector negative(Vector x) { return (Vector)_mm512_xor_si512((__m512i)x, sign_bits()); }

/** The processor's minima and maxima are the second operand if either is no number. */
static inline __mmask16 no_numbers(Vector x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
static inline Vector largest(Vector a, Vector b) { return _mm512_mask_mov_ps(_mm512_max_ps(a, b), no_numbers(a), a); }
static inline Vector smallest(Vector a, Vector b) { return _mm512_mask_mov_ps(_mm512_min_ps(a, b), no_numbers(a), a); }

/** The largest of some numbers; what is not a number may be passed over. */
static inline float largest_of(const float *numbers, long count) {
  Vector most = all(-__builtin_inff());
  for (long i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    most = _mm512_mask_max_ps(most, mask, most, _mm512_maskz_loadu_ps(mask, numbers + i));
  }
  return _mm512_reduce_max_ps(most);
}

static inline void scale_row(float *row, long size, float factor) {
  for (long i = 0; i < size; i += 16) {
    const __mmask16 mask = mask_of(size - i);
    _mm512_mask_storeu_ps(row + i, mask, _mm512_mul_ps(all(factor), _mm512_maskz_loadu_ps(mask, row + i)));
  }
}

/** exp(x) = 2ⁿ · (1 + rest), where |x − n · log 2| ≤ log 2 / 2. The rest is a Taylor series, exact to 6e-9. */
static inline Vector exponential_parts(Vector x, Vector *rest) {
  const Vector n = _mm512_roundscale_ps(_mm512_mul_ps(x, all(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // log 2 as the sum of two numbers, the first of which has few bits, so that its multiples are exact.
  const Vector r = _mm512_fnmadd_ps(n, all(-2.12194440e-4f), _mm512_fnmadd_ps(n, all(0.693359375f), x));
  Vector sum = all(1.0f / 5040);
  sum = _mm512_fmadd_ps(sum, r, all(1.0f / 720));
  sum = _mm512_fmadd_ps(sum, r, all(1.0f / 120));
  sum = _mm512_fmadd_ps(sum, r, all(1.0f / 24));
  sum = _mm512_fmadd_ps(sum, r, all(1.0f / 6));
  sum = _mm512_fmadd_ps(sum, r, all(0.5f));
  *rest = _mm512_fmadd_ps(_mm512_mul_ps(sum, r), r, r);
  return n;
}

static inline Vector exponential(Vector x) {
  Vector rest;
  // Beyond these limits the result is infinite or zero.
  const Vector n = exponential_parts(_mm512_max_ps(all(-150), _mm512_min_ps(all(150), x)), &rest);
  return _mm512_scalef_ps(_mm512_add_ps(all(1), rest), n);
}

static inline Vector sigmoid(Vector x) { return _mm512_div_ps(all(1), _mm512_add_ps(all(1), exponential(negative(x)))); }

/** e / (e + 2), where e = exp(2 |x|) − 1, with the sign of x. */
static inline Vector hyperbolic_tangent(Vector x) {
  Vector rest;
  const Vector size = _mm512_min_ps(all(20), _mm512_abs_ps(x));
  const Vector n = exponential_parts(_mm512_add_ps(size, size), &rest), power = _mm512_scalef_ps(all(1), n);
  const Vector e = _mm512_fmadd_ps(power, rest, _mm512_sub_ps(power, all(1)));
  const Vector result = _mm512_div_ps(e, _mm512_add_ps(e, all(2)));
  return (Vector)_mm512_or_si512((__m512i)result, _mm512_and_si512((__m512i)x, sign_bits()));
}

/** x = 2ⁿ · (1 + f), where 1 + f lies between √½ and √2; log(1 + f) is a polynomial: Moshier 1989, the Cephes library. */
static inline Vector logarithm(Vector x) {
  const Vector mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
  const __mmask16 above = _mm512_cmp_ps_mask(mantissa, all(1.41421356f), _CMP_GT_OQ);
  const Vector exponent = _mm512_getexp_ps(x), n = _mm512_mask_add_ps(exponent, above, exponent, all(1));
  const Vector f = _mm512_sub_ps(_mm512_mask_mul_ps(mantissa, above, mantissa, all(0.5f)), all(1));
  Vector sum = all(7.0376836292e-2f);
  sum = _mm512_fmadd_ps(sum, f, all(-1.1514610310e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(1.1676998740e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(-1.2420140846e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(1.4249322787e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(-1.6668057665e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(2.0000714765e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(-2.4999993993e-1f));
  sum = _mm512_fmadd_ps(sum, f, all(3.3333331174e-1f));
  const Vector square = _mm512_mul_ps(f, f);
  Vector small = _mm512_fmadd_ps(n, all(-2.12194440e-4f), _mm512_mul_ps(_mm512_mul_ps(sum, f), square));
  small = _mm512_fnmadd_ps(all(0.5f), square, small);
  const Vector result = _mm512_fmadd_ps(n, all(0.693359375f), _mm512_add_ps(f, small));
  // The exponents of zero and of infinity are infinite: those are the results. Numbers below zero have a mantissa that is none.
  const __mmask16 infinite = _mm512_cmp_ps_mask(_mm512_abs_ps(exponent), all(__builtin_inff()), _CMP_EQ_OQ) &
                             _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GE_OQ);
  return _mm512_mask_mov_ps(result, infinite, exponent);
}

/** Pairs of bfloat16 numbers: the first of each, and the second of each. */
static inline void widen_pairs(__m512i pairs, Vector into[2]) {
  into[0] = (Vector)_mm512_slli_epi32(pairs, 16);
  into[1] = (Vector)_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000));
}

/** Transposes 16 × 16 numbers of 32 bits. */
static inline void transpose(__m512i *rows) {
  __m512i a[16], b[16];
  for (int i = 0; i < 8; i++) {
    a[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    a[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 4; i++) {
    b[4 * i] = _mm512_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm512_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm512_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm512_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    a[i] = _mm512_shuffle_i32x4(b[i], b[4 + i], 0x88);
    a[4 + i] = _mm512_shuffle_i32x4(b[i], b[4 + i], 0xdd);
    a[8 + i] = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0x88);
    a[12 + i] = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0xdd);
  }
  for (int i = 0; i < 8; i++) {
    rows[i] = _mm512_shuffle_i32x4(a[i], a[8 + i], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(a[i], a[8 + i], 0xdd);
  }
}

/** The sums of 16 vectors. */
static inline __m512 sum_each(const __m512 v[16]) {
  __m512 twos[8], fours[4], halves[2];
  for (int i = 0; i < 8; i++) twos[i] = _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  for (int i = 0; i < 4; i++) {
    const __m512d a = (__m512d)twos[2 * i], b = (__m512d)twos[2 * i + 1];
    fours[i] = _mm512_add_ps((__m512)_mm512_unpacklo_pd(a, b), (__m512)_mm512_unpackhi_pd(a, b));
  }
  for (int i = 0; i < 2; i++)
    halves[i] = _mm512_add_ps(_mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0x88), _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
  return _mm512_add_ps(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88), _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
}
