// A vector of 16 numbers in two registers (AVX2). vectors.h says what the functions do.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  __m256 low, high;
} Vector;
typedef struct {
  __m256i low, high;
} Ints;
typedef struct {
  __m256i low, high;
} Mask; // all bits of a lane, or none
typedef __m128i Bytes;

enum { REGISTERS = 8 };

/** Applies a function whose name begins with _mm256_ to both halves. */
#define HALVES_2(type, name, function) \
  static inline type name(type a, type b) { return (type){_mm256_##function(a.low, b.low), _mm256_##function(a.high, b.high)}; }
#define HALVES_3(name, function) \
  static inline Vector name(Vector a, Vector b, Vector c) { \
    return (Vector){_mm256_##function(a.low, b.low, c.low), _mm256_##function(a.high, b.high, c.high)}; \
  }
#define COMPARED(name, predicate) \
  static inline Mask name(Vector a, Vector b) { \
    return (Mask){(__m256i)_mm256_cmp_ps(a.low, b.low, predicate), (__m256i)_mm256_cmp_ps(a.high, b.high, predicate)}; \
  }

static inline __m256i lane_indices(int first) { return _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }

static inline Mask tail_mask(int64_t count) {
  const __m256i limit = _mm256_set1_epi32(count > 16 ? 16 : count < 0 ? 0 : (int)count);
  return (Mask){_mm256_cmpgt_epi32(limit, lane_indices(0)), _mm256_cmpgt_epi32(limit, lane_indices(8))};
}
HALVES_2(Mask, mask_and, and_si256)
static inline Mask mask_andnot(Mask a, Mask b) { return (Mask){_mm256_andnot_si256(b.low, a.low), _mm256_andnot_si256(b.high, a.high)}; }
static inline int is_empty(Mask mask) {
  const __m256i any = _mm256_or_si256(mask.low, mask.high);
  return _mm256_testz_si256(any, any);
}
static inline Vector blend(Mask mask, Vector a, Vector b) {
  return (Vector){_mm256_blendv_ps(b.low, a.low, (__m256)mask.low), _mm256_blendv_ps(b.high, a.high, (__m256)mask.high)};
}
static inline Vector masked(Mask mask, Vector x) {
  return (Vector){_mm256_and_ps(x.low, (__m256)mask.low), _mm256_and_ps(x.high, (__m256)mask.high)};
}
COMPARED(gt, _CMP_GT_OQ)
COMPARED(ge, _CMP_GE_OQ)
COMPARED(eq, _CMP_EQ_OQ)
COMPARED(ne, _CMP_NEQ_UQ)
COMPARED(unordered, _CMP_UNORD_Q)
static inline Mask is_nan(Vector x) { return unordered(x, x); }

static inline Vector broadcast(float x) { return (Vector){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
static inline Vector load(const float *from) { return (Vector){_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
static inline void store(float *into, Vector x) {
  _mm256_storeu_ps(into, x.low);
  _mm256_storeu_ps(into + 8, x.high);
}
static inline Vector load_first(int64_t count, const float *from) {
  if (__builtin_expect(count >= 16, 1)) return load(from);
  const Mask mask = tail_mask(count);
  return (Vector){_mm256_maskload_ps(from, mask.low), _mm256_maskload_ps(from + 8, mask.high)};
}
/** A masked store takes dozens of cycles on AMD's processors. */
static inline void store_first(int64_t count, float *into, Vector x) {
  if (__builtin_expect(count >= 16, 1)) return store(into, x);
  const Mask mask = tail_mask(count);
  _mm256_maskstore_ps(into, mask.low, x.low);
  _mm256_maskstore_ps(into + 8, mask.high, x.high);
}

HALVES_2(Vector, add, add_ps)
HALVES_2(Vector, sub, sub_ps)
HALVES_2(Vector, mul, mul_ps)
HALVES_2(Vector, divide, div_ps)
HALVES_3(fmadd, fmadd_ps)
HALVES_3(fmsub, fmsub_ps)
static inline Vector fnmadd(Vector a, Vector b, Vector c) {
  return (Vector){_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
}
HALVES_2(Vector, maximum, max_ps)
HALVES_2(Vector, minimum, min_ps)
static inline Vector square_root(Vector x) { return (Vector){_mm256_sqrt_ps(x.low), _mm256_sqrt_ps(x.high)}; }
static inline Vector round_nearest(Vector x) {
  enum { MODE = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
  return (Vector){_mm256_round_ps(x.low, MODE), _mm256_round_ps(x.high, MODE)};
}

static inline float first_lane(Vector x) { return _mm256_cvtss_f32(x.low); }

/** Sums, greatest and least numbers of halves, and then of their halves. */
#define REDUCED(name, function) \
  static inline float name(Vector x) { \
    const __m256 eight = _mm256_##function(x.low, x.high); \
    const __m128 four = _mm_##function(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)); \
    const __m128 two = _mm_##function(four, _mm_movehl_ps(four, four)); \
    return _mm_cvtss_f32(_mm_##function(two, _mm_movehdup_ps(two))); \
  }
REDUCED(hsum, add_ps)
REDUCED(hmax, max_ps)
REDUCED(hmin, min_ps)

static inline Ints broadcast_ints(int32_t x) { return (Ints){_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
static inline Ints as_ints(Vector x) { return (Ints){(__m256i)x.low, (__m256i)x.high}; }
static inline Vector as_floats(Ints x) { return (Vector){(__m256)x.low, (__m256)x.high}; }
static inline Ints round_to_ints(Vector x) { return (Ints){_mm256_cvtps_epi32(x.low), _mm256_cvtps_epi32(x.high)}; }
static inline Vector ints_to_floats(Ints x) { return (Vector){_mm256_cvtepi32_ps(x.low), _mm256_cvtepi32_ps(x.high)}; }
HALVES_2(Ints, add_ints, add_epi32)
HALVES_2(Ints, sub_ints, sub_epi32)
static inline Ints shift_right_signed(Ints x, int times) { return (Ints){_mm256_srai_epi32(x.low, times), _mm256_srai_epi32(x.high, times)}; }
HALVES_2(Ints, max_ints, max_epi32)
HALVES_2(Ints, bits_and, and_si256)
HALVES_2(Ints, bits_or, or_si256)
HALVES_2(Ints, bits_xor, xor_si256)
static inline Ints shift_left(Ints x, int bits) { return (Ints){_mm256_slli_epi32(x.low, bits), _mm256_slli_epi32(x.high, bits)}; }
static inline Ints shift_right(Ints x, int bits) { return (Ints){_mm256_srli_epi32(x.low, bits), _mm256_srli_epi32(x.high, bits)}; }
#define REDUCED_INTS(name, function) \
  static inline int32_t name(Ints x) { \
    const __m256i eight = _mm256_##function(x.low, x.high); \
    const __m128i four = _mm_##function(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1)); \
    const __m128i two = _mm_##function(four, _mm_unpackhi_epi64(four, four)); \
    return _mm_cvtsi128_si32(_mm_##function(two, _mm_shuffle_epi32(two, 1))); \
  }
REDUCED_INTS(hsum_ints, add_epi32)
REDUCED_INTS(hmax_ints, max_epi32)

#include "exponents.h"

static inline Bytes load_bytes(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }
static inline Bytes low_nibbles(Bytes x) { return _mm_and_si128(x, _mm_set1_epi8(15)); }
static inline Bytes high_nibbles(Bytes x) { return _mm_and_si128(_mm_srli_epi16(x, 4), _mm_set1_epi8(15)); }
static inline Ints bytes_to_ints(Bytes x) { return (Ints){_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(x, x))}; }
static inline Ints signed_bytes_to_ints(Bytes x) { return (Ints){_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(x, x))}; }

/** After both packings, four integers of each half are side by side, those of the lower quarters first. */
static inline __m128i gather_quarters(__m256i packed) {
  const __m256i ordered = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  return _mm256_castsi256_si128(ordered);
}
static inline void store_lowest_bytes(uint8_t *into, Ints x) {
  const Ints bytes = bits_and(x, broadcast_ints(255));
  const __m256i words = _mm256_packus_epi32(bytes.low, bytes.high);
  _mm_storeu_si128((__m128i *)into, gather_quarters(_mm256_packus_epi16(words, words)));
}
static inline void store_words(int16_t *into, Ints x) {
  const __m256i words = _mm256_packs_epi32(x.low, x.high);
  _mm256_storeu_si256((__m256i *)into, _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0)));
}
static inline Ints bit_for_each(uint32_t bits) {
  const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)bits), lane_indices(0)),
                high = _mm256_srlv_epi32(_mm256_set1_epi32((int)bits), lane_indices(8));
  return bits_and((Ints){low, high}, broadcast_ints(1));
}

static inline Vector broadcast_half(const void *from) {
  int16_t half;
  memcpy(&half, from, sizeof half);
  const __m256 eight = _mm256_cvtph_ps(_mm_set1_epi16(half));
  return (Vector){eight, eight};
}
static inline float half_at(const void *from) { return first_lane(broadcast_half(from)); }
static inline uint16_t half_of(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
static inline void store_halves(void *into, Vector x) {
  _mm_storeu_si128((__m128i *)into, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128((__m128i *)into + 1, _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT));
}
static inline Vector from_halves(const void *from) {
  const __m128i *eights = from;
  return (Vector){_mm256_cvtph_ps(_mm_loadu_si128(eights)), _mm256_cvtph_ps(_mm_loadu_si128(eights + 1))};
}
static inline Vector from_bfloat16(const void *from) {
  const __m128i *eights = from;
  return as_floats(shift_left((Ints){_mm256_cvtepu16_epi32(_mm_loadu_si128(eights)), _mm256_cvtepu16_epi32(_mm_loadu_si128(eights + 1))}, 16));
}

/** Transposes 8 × 8 numbers of 32 bits. */
static inline void transpose_eight(__m256i rows[8]) {
  __m256i a[8], b[8];
  UNROLLED
  for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  UNROLLED
  for (int i = 0; i < 2; i++) {
    b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  UNROLLED
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm256_permute2x128_si256(b[i], b[4 + i], 0x20);
    rows[4 + i] = _mm256_permute2x128_si256(b[i], b[4 + i], 0x31);
  }
}

static inline void transpose(Ints *rows) {
  __m256i quarters[4][8]; // of rows 0 to 7 the lower half and the upper one, then of rows 8 to 15
  UNROLLED
  for (int i = 0; i < 8; i++) {
    quarters[0][i] = rows[i].low;
    quarters[1][i] = rows[i].high;
    quarters[2][i] = rows[8 + i].low;
    quarters[3][i] = rows[8 + i].high;
  }
  UNROLLED
  for (int i = 0; i < 4; i++) transpose_eight(quarters[i]);
  UNROLLED
  for (int i = 0; i < 8; i++) {
    rows[i] = (Ints){quarters[0][i], quarters[2][i]};
    rows[8 + i] = (Ints){quarters[1][i], quarters[3][i]};
  }
}

/** The sums of 8 vectors of 8 numbers. */
static inline __m256 sum_eight(const __m256 v[8]) {
  __m256 twos[4], fours[2];
  UNROLLED
  for (int i = 0; i < 4; i++) twos[i] = _mm256_hadd_ps(v[2 * i], v[2 * i + 1]);
  UNROLLED
  for (int i = 0; i < 2; i++) fours[i] = _mm256_hadd_ps(twos[2 * i], twos[2 * i + 1]);
  return _mm256_add_ps(_mm256_permute2f128_ps(fours[0], fours[1], 0x20), _mm256_permute2f128_ps(fours[0], fours[1], 0x31));
}

static inline Vector sum_each(const Vector v[16]) {
  __m256 halves[2][8];
  UNROLLED
  for (int i = 0; i < 16; i++) halves[i / 8][i % 8] = _mm256_add_ps(v[i].low, v[i].high);
  return (Vector){sum_eight(halves[0]), sum_eight(halves[1])};
}
