// Matrices as files store their numbers, which are decoded where they are read.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/** Rows of formats other than FLOAT32 are made of whole blocks of 32 numbers. Those whose names begin with Q are ggml's. */
typedef enum { FLOAT32, BFLOAT16, FLOAT16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, FORMATS } Format;

enum {
  STORED_BLOCK = 32,
  ROW_AHEAD = 192, // bytes ahead of what is read in a row that are prefetched
};
static const long block_bytes[FORMATS] = {128, 64, 64, 34, 18, 20, 22, 24};

/** A matrix, row by row; `stride` numbers from one row to the next. */
typedef struct {
  const void *numbers;
  long stride;
  Format format;
} Matrix;

static inline Matrix floats(const float *numbers, long stride) { return (Matrix){numbers, stride, FLOAT32}; }

/** So many rows further down, and so many numbers to the right, which begin a block. */
static inline Matrix part_of(Matrix m, long row, long column) {
  const long numbers = row * m.stride + column;
  return (Matrix){(const char *)m.numbers + (m.format == FLOAT32 ? 4 * numbers : numbers / STORED_BLOCK * block_bytes[m.format]), m.stride,
                  m.format};
}

static inline __m512 from_half(const uint8_t *from) {
  int16_t half;
  memcpy(&half, from, sizeof half);
  return _mm512_cvtph_ps(_mm256_set1_epi16(half));
}

/** 16 unsigned integers: a bit of each is `fifth`, the others come from `four`. */
static inline __m512 from_bits(__m128i four, __mmask16 fifth, int middle) {
  const __m512i lower = _mm512_cvtepu8_epi32(_mm_and_si128(four, _mm_set1_epi8(15)));
  const __m512i whole = _mm512_mask_add_epi32(lower, fifth, lower, _mm512_set1_epi32(16));
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(whole, _mm512_set1_epi32(middle)));
}

/** The integers of a block whose lower bits are in 16 bytes: numbers 0 to 15 in their lower halves, 16 to 31 in the upper ones. */
static inline void decode_integers(const uint8_t *from, uint32_t fifths, int middle, __m512 into[2]) {
  const __m128i bits = _mm_loadu_si128((const __m128i *)from);
  into[0] = from_bits(bits, (__mmask16)fifths, middle);
  into[1] = from_bits(_mm_srli_epi16(bits, 4), (__mmask16)(fifths >> 16), middle);
}

/** Decodes a block, exactly as readers of such files do. */
static inline __attribute__((always_inline)) void decode_block(const uint8_t *from, const Format format, __m512 into[2]) {
  uint32_t fifths = 0;
  switch (format) {
    case FLOAT32:
      for (int i = 0; i < 2; i++) into[i] = _mm512_loadu_ps(from + 64 * i);
      return;
    case BFLOAT16:
      for (int i = 0; i < 2; i++)
        into[i] = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(from + 32 * i))), 16);
      return;
    case FLOAT16:
      for (int i = 0; i < 2; i++) into[i] = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + 32 * i)));
      return;
    case Q8_0:
      for (int i = 0; i < 2; i++)
        into[i] = _mm512_mul_ps(from_half(from), _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(from + 2 + 16 * i)))));
      return;
    case Q4_0:
    case Q5_0:
      if (format == Q5_0) memcpy(&fifths, from + 2, 4);
      decode_integers(from + (format == Q5_0 ? 6 : 2), fifths, format == Q5_0 ? 16 : 8, into);
      for (int i = 0; i < 2; i++) into[i] = _mm512_mul_ps(from_half(from), into[i]);
      return;
    default: // Q4_1 and Q5_1; products are exact, so that only their sums are rounded
      if (format == Q5_1) memcpy(&fifths, from + 4, 4);
      decode_integers(from + (format == Q5_1 ? 8 : 4), fifths, 0, into);
      for (int i = 0; i < 2; i++) into[i] = _mm512_fmadd_ps(from_half(from), into[i], from_half(from + 2));
  }
}

static inline __attribute__((always_inline)) void decode_rows(const Matrix *m, const Format format, long rows, long blocks, float *into) {
  const long row_bytes = m->stride / STORED_BLOCK * block_bytes[format];
  for (long row = 0; row < rows; row++) {
    const uint8_t *from = (const uint8_t *)m->numbers + row * row_bytes;
    _mm_prefetch((const char *)from + ROW_AHEAD, _MM_HINT_T0);
    for (long block = 0; block < blocks; block++, from += block_bytes[format], into += STORED_BLOCK) {
      __m512 numbers[2];
      decode_block(from, format, numbers);
      _mm512_storeu_ps(into, numbers[0]);
      _mm512_storeu_ps(into + 16, numbers[1]);
    }
  }
}

/** Decodes the first blocks of each of some rows. */
static void decode(const Matrix *m, long rows, long blocks, float *into) {
  switch (m->format) { // one loop for each
    case FLOAT32: return decode_rows(m, FLOAT32, rows, blocks, into);
    case BFLOAT16: return decode_rows(m, BFLOAT16, rows, blocks, into);
    case FLOAT16: return decode_rows(m, FLOAT16, rows, blocks, into);
    case Q8_0: return decode_rows(m, Q8_0, rows, blocks, into);
    case Q4_0: return decode_rows(m, Q4_0, rows, blocks, into);
    case Q4_1: return decode_rows(m, Q4_1, rows, blocks, into);
    case Q5_0: return decode_rows(m, Q5_0, rows, blocks, into);
    default: return decode_rows(m, Q5_1, rows, blocks, into);
  }
}

/** Up to 32 rows of 32 numbers as float32: where they are, or decoded. */
static inline Matrix block_of(Matrix m, long row, long column, long rows, float decoded[STORED_BLOCK * STORED_BLOCK]) {
  const Matrix part = part_of(m, row, column);
  if (m.format == FLOAT32) return part;
  decode(&part, rows < STORED_BLOCK ? rows : STORED_BLOCK, 1, decoded);
  return (Matrix){decoded, STORED_BLOCK, FLOAT32};
}
