// A vector of 16 numbers in one register (AVX-512). vectors.h says what the functions do.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef __m512 Vector;
typedef __m512i Ints;
typedef __mmask16 Mask;
typedef __m128i Bytes;

enum { REGISTERS = 32 };

static inline Mask tail_mask(int64_t count) { return count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1; }
static inline Mask mask_and(Mask a, Mask b) { return a & b; }
static inline Mask mask_andnot(Mask a, Mask b) { return a & ~b; }
static inline int is_empty(Mask mask) { return mask == 0; }
static inline Vector blend(Mask mask, Vector a, Vector b) { return _mm512_mask_mov_ps(b, mask, a); }
static inline Vector masked(Mask mask, Vector x) { return _mm512_maskz_mov_ps(mask, x); }
static inline Mask gt(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline Mask ge(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
static inline Mask eq(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline Mask ne(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
static inline Mask is_nan(Vector x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }

static inline Vector broadcast(float x) { return _mm512_set1_ps(x); }
static inline Vector load(const float *from) { return _mm512_loadu_ps(from); }
static inline void store(float *into, Vector x) { _mm512_storeu_ps(into, x); }
static inline Vector load_first(int64_t count, const float *from) { return _mm512_maskz_loadu_ps(tail_mask(count), from); }
static inline void store_first(int64_t count, float *into, Vector x) { _mm512_mask_storeu_ps(into, tail_mask(count), x); }

static inline Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
static inline Vector sub(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
static inline Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
static inline Vector divide(Vector a, Vector b) { return _mm512_div_ps(a, b); }
static inline Vector fmadd(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
static inline Vector fmsub(Vector a, Vector b, Vector c) { return _mm512_fmsub_ps(a, b, c); }
static inline Vector fnmadd(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }
static inline Vector maximum(Vector a, Vector b) { return _mm512_max_ps(a, b); }
static inline Vector minimum(Vector a, Vector b) { return _mm512_min_ps(a, b); }
static inline Vector absolute(Vector x) { return _mm512_abs_ps(x); }
static inline Vector square_root(Vector x) { return _mm512_sqrt_ps(x); }
static inline Vector round_nearest(Vector x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline Vector scalef(Vector x, Vector n) { return _mm512_scalef_ps(x, n); }
static inline Vector exponent(Vector x) { return _mm512_getexp_ps(x); }
static inline Vector mantissa(Vector x) { return _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
static inline float first_lane(Vector x) { return _mm512_cvtss_f32(x); }
static inline float hsum(Vector x) { return _mm512_reduce_add_ps(x); }
static inline float hmax(Vector x) { return _mm512_reduce_max_ps(x); }
static inline float hmin(Vector x) { return _mm512_reduce_min_ps(x); }

static inline Ints broadcast_ints(int32_t x) { return _mm512_set1_epi32(x); }
static inline Ints as_ints(Vector x) { return (Ints)x; }
static inline Vector as_floats(Ints x) { return (Vector)x; }
static inline Ints round_to_ints(Vector x) { return _mm512_cvtps_epi32(x); }
static inline Vector ints_to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
static inline Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
static inline Ints sub_ints(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
static inline Ints max_ints(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
static inline Ints bits_and(Ints a, Ints b) { return _mm512_and_si512(a, b); }
static inline Ints bits_or(Ints a, Ints b) { return _mm512_or_si512(a, b); }
static inline Ints bits_xor(Ints a, Ints b) { return _mm512_xor_si512(a, b); }
static inline Ints shift_left(Ints x, int bits) { return _mm512_slli_epi32(x, bits); }
static inline Ints shift_right(Ints x, int bits) { return _mm512_srli_epi32(x, bits); }
static inline Ints shift_right_signed(Ints x, int times) { return _mm512_srai_epi32(x, times); }
static inline int32_t hsum_ints(Ints x) { return _mm512_reduce_add_epi32(x); }
static inline int32_t hmax_ints(Ints x) { return _mm512_reduce_max_epi32(x); }

static inline Bytes load_bytes(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }
static inline Bytes low_nibbles(Bytes x) { return _mm_and_si128(x, _mm_set1_epi8(15)); }
static inline Bytes high_nibbles(Bytes x) { return _mm_and_si128(_mm_srli_epi16(x, 4), _mm_set1_epi8(15)); }
static inline Ints bytes_to_ints(Bytes x) { return _mm512_cvtepu8_epi32(x); }
static inline Ints signed_bytes_to_ints(Bytes x) { return _mm512_cvtepi8_epi32(x); }
static inline void store_lowest_bytes(uint8_t *into, Ints x) { _mm_storeu_si128((__m128i *)into, _mm512_cvtepi32_epi8(x)); }
static inline void store_words(int16_t *into, Ints x) { _mm256_storeu_si256((__m256i *)into, _mm512_cvtsepi32_epi16(x)); }
static inline Ints bit_for_each(uint32_t bits) {
  return bits_and(_mm512_srlv_epi32(broadcast_ints((int32_t)bits), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
                  broadcast_ints(1));
}

static inline Vector broadcast_half(const void *from) {
  int16_t half;
  memcpy(&half, from, sizeof half);
  return _mm512_cvtph_ps(_mm256_set1_epi16(half));
}
static inline float half_at(const void *from) { return first_lane(broadcast_half(from)); }
static inline uint16_t half_of(float x) { return (uint16_t)_mm256_extract_epi16(_mm512_cvtps_ph(broadcast(x), _MM_FROUND_TO_NEAREST_INT), 0); }
static inline void store_halves(void *into, Vector x) { _mm256_storeu_si256((__m256i *)into, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)); }
static inline Vector from_halves(const void *from) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)); }
static inline Vector from_bfloat16(const void *from) {
  return (Vector)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from)), 16);
}

/** Pairs of bfloat16 numbers: the first of each, and the second of each. */
static inline void widen_pairs(__m512i pairs, Vector into[2]) {
  into[0] = (Vector)_mm512_slli_epi32(pairs, 16);
  into[1] = (Vector)_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000));
}

static inline void transpose(Ints *rows) {
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

static inline Vector sum_each(const Vector v[16]) {
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
