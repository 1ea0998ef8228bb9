// The exponential function of 16 numbers.
#pragma once

#include <immintrin.h>

/** e^x with a relative error below 2e-7; 0 for very negative numbers, NaN for NaN. */
static inline __m512 exponential(__m512 x) {
  // x = n · ln 2 + r with |r| ≤ ln 2 / 2, and e^r by its Taylor series.
  x = _mm512_max_ps(_mm512_set1_ps(-150), _mm512_min_ps(_mm512_set1_ps(150), x)); // the second operand is kept if it is NaN
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 sum = _mm512_set1_ps(1.f / 5040);
  const float coefficients[] = {1.f / 720, 1.f / 120, 1.f / 24, 1.f / 6, 1.f / 2, 1, 1};
  for (int i = 0; i < 7; i++) sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(coefficients[i]));
  return _mm512_scalef_ps(sum, n);
}
