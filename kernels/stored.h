// Matrices in the formats of weight files, which are decoded where they are read.
#pragma once

#include <stdint.h>
#include <string.h>
#include "vectors.h"

/** Those whose names begin with Q are ggml's. Layouts: ggml-common.h of https://github.com/ggml-org/ggml. */
typedef enum { FLOAT32, BFLOAT16, FLOAT16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, FORMATS } Format;

enum {
  STORED_BLOCK = 32,
  ROW_AHEAD = 192, // bytes ahead of what is read in a row that are prefetched
};

/** Rows of formats other than FLOAT32 are made of whole units: blocks of 32 numbers, or eight of them that share what scales their scales. */
typedef struct {
  int64_t blocks, bytes;
} Unit;
static const Unit units[FORMATS] = {{1, 128}, {1, 64}, {1, 64}, {1, 34}, {1, 18}, {1, 20}, {1, 22}, {1, 24}, {8, 144}, {8, 176}, {8, 210}};

/** A matrix, row by row; `stride` numbers from one row to the next. Rows begin with this block of their first unit. */
typedef struct {
  const void *numbers;
  int64_t stride;
  Format format;
  int64_t block;
} Matrix;

/** The number with this index of some in float32 or float16, and the bytes of one. */
static inline int64_t number_bytes(const Format format) { return format == FLOAT16 ? 2 : 4; }
static inline const void *place_at(const Format format, const void *from, int64_t index) { return (const char *)from + number_bytes(format) * index; }

/** The first `count` of 16 numbers in float32, or 16 in float16, from that with this index on. */
static inline Vector numbers_at(const Format format, int64_t count, const void *from, int64_t index) {
  const void *place = place_at(format, from, index);
  return format == FLOAT16 ? from_halves(place) : load_first(count, place);
}

static inline Matrix floats(const float *numbers, int64_t stride) { return (Matrix){numbers, stride, FLOAT32, 0}; }
static inline int64_t row_bytes(const Matrix *m) { return m->stride / STORED_BLOCK / units[m->format].blocks * units[m->format].bytes; }

/** So many rows further down, and so many numbers to the right, which begin a block. */
static inline Matrix part_of(Matrix m, int64_t row, int64_t column) {
  if (m.format == FLOAT32) return floats((const float *)m.numbers + row * m.stride + column, m.stride);
  const Unit unit = units[m.format];
  const int64_t block = m.block + column / STORED_BLOCK;
  return (Matrix){(const char *)m.numbers + row * row_bytes(&m) + block / unit.blocks * unit.bytes, m.stride, m.format, block % unit.blocks};
}

/** 16 unsigned integers: `fifth` has a bit of each, the others come from `four`. */
static inline Vector from_bits(Bytes four, Ints fifth, int middle) {
  const Ints whole = bits_or(bytes_to_ints(four), shift_left(fifth, 4));
  return ints_to_floats(sub_ints(whole, broadcast_ints(middle)));
}

/** The integers of a block whose lower bits are in 16 bytes: numbers 0 to 15 in their lower halves, 16 to 31 in the upper ones. */
static inline void decode_integers(const uint8_t *from, uint32_t fifths, int middle, Vector into[2]) {
  const Bytes bits = load_bytes(from);
  into[0] = from_bits(low_nibbles(bits), bit_for_each(fifths), middle);
  into[1] = from_bits(high_nibbles(bits), bit_for_each(fifths >> 16), middle);
}

/** Of a block of Q4_K or Q5_K: two halves, then 12 bytes in which the later four scales and minima, of 6 bits, are spread over three places. */
static inline void read_scales_of(const uint8_t *unit, int64_t block, Vector *scale, Vector *minimum) {
  const uint8_t *at = unit + 4;
  const int s = block < 4 ? at[block] & 63 : (at[block + 4] & 15) | at[block - 4] >> 6 << 4;
  const int m = block < 4 ? at[block + 4] & 63 : at[block + 4] >> 4 | at[block] >> 6 << 4;
  *scale = mul(broadcast_half(unit), broadcast((float)s));
  *minimum = mul(broadcast_half(unit + 2), broadcast((float)m));
}

/** Some bits of each of 16 bytes. */
static inline Ints bits_of(Bytes bytes, int64_t first, int mask) {
  return bits_and(shift_right(bytes_to_ints(bytes), (int)first), broadcast_ints(mask));
}

/** Blocks come in pairs that share 32 bytes: the even one has their lower halves. A fifth bit, if there is one, is this bit of 32 other bytes. */
static inline void decode_with_minimum(const uint8_t *unit, const uint8_t *levels, const uint8_t *fifths, int64_t block, Vector into[2]) {
  Vector scale, minimum;
  read_scales_of(unit, block, &scale, &minimum);
  for (int i = 0; i < 2; i++) {
    const Bytes pairs = load_bytes(levels + 32 * (block / 2) + 16 * i), four = block % 2 ? high_nibbles(pairs) : low_nibbles(pairs);
    const Ints fifth = fifths ? bits_of(load_bytes(fifths + 16 * i), block, 1) : broadcast_ints(0);
    into[i] = fmsub(scale, from_bits(four, fifth, 0), minimum);
  }
}

/** 16 numbers of 6 bits around 32 share a scale of 8 bits. Each half of a unit has lower and upper bits of its own, for four blocks. */
static inline void decode_6_bits(const uint8_t *unit, int64_t block, Vector into[2]) {
  const int64_t half = block / 4, row = block % 4;
  for (int i = 0; i < 2; i++) {
    const Bytes lower = load_bytes(unit + 64 * half + 32 * (row % 2) + 16 * i), upper = load_bytes(unit + 128 + 32 * half + 16 * i);
    const Ints four = bits_of(lower, row / 2 * 4, 15), two = bits_of(upper, 2 * row, 3);
    const Ints level = sub_ints(bits_or(four, shift_left(two, 4)), broadcast_ints(32));
    into[i] = mul(mul(broadcast_half(unit + 208), broadcast((float)(int8_t)unit[192 + 2 * block + i])), ints_to_floats(level));
  }
}

/** Decodes a block of a unit, exactly as readers of such files do: products are exact, so that only sums are rounded. */
static inline __attribute__((always_inline)) void decode_block(const uint8_t *from, const Format format, int64_t block, Vector into[2]) {
  uint32_t fifths = 0;
  switch (format) {
  case FLOAT32:
    for (int i = 0; i < 2; i++) into[i] = load((const float *)from + 16 * i);
    return;
  case BFLOAT16:
    for (int i = 0; i < 2; i++) into[i] = from_bfloat16(from + 32 * i);
    return;
  case FLOAT16:
    for (int i = 0; i < 2; i++) into[i] = from_halves(from + 32 * i);
    return;
  case Q8_0:
    for (int i = 0; i < 2; i++) into[i] = mul(broadcast_half(from), ints_to_floats(signed_bytes_to_ints(load_bytes(from + 2 + 16 * i))));
    return;
  case Q4_0:
  case Q5_0:
    if (format == Q5_0) memcpy(&fifths, from + 2, 4);
    decode_integers(from + (format == Q5_0 ? 6 : 2), fifths, format == Q5_0 ? 16 : 8, into);
    for (int i = 0; i < 2; i++) into[i] = mul(broadcast_half(from), into[i]);
    return;
  case Q4_K: return decode_with_minimum(from, from + 16, 0, block, into);
  case Q5_K: return decode_with_minimum(from, from + 48, from + 16, block, into);
  case Q6_K: return decode_6_bits(from, block, into);
  default: // Q4_1 and Q5_1
    if (format == Q5_1) memcpy(&fifths, from + 4, 4);
    decode_integers(from + (format == Q5_1 ? 8 : 4), fifths, 0, into);
    for (int i = 0; i < 2; i++) into[i] = fmadd(broadcast_half(from), into[i], broadcast_half(from + 2));
  }
}

static inline __attribute__((always_inline)) void decode_rows(const Matrix *m, const Format format, int64_t rows, int64_t blocks, float *into) {
  const Unit unit = units[format];
  for (int64_t row = 0; row < rows; row++) {
    const uint8_t *from = (const uint8_t *)m->numbers + row * row_bytes(m);
    __builtin_prefetch((const char *)from + ROW_AHEAD, 0, 3);
    for (int64_t block = m->block; block < m->block + blocks; block++, into += STORED_BLOCK) {
      Vector numbers[2];
      decode_block(from + block / unit.blocks * unit.bytes, format, block % unit.blocks, numbers);
      store(into, numbers[0]);
      store(into + 16, numbers[1]);
    }
  }
}

/** Decodes the first blocks of each of some rows. */
static void decode(const Matrix *m, int64_t rows, int64_t blocks, float *into) {
  switch (m->format) { // one loop for each
  case FLOAT32: return decode_rows(m, FLOAT32, rows, blocks, into);
  case BFLOAT16: return decode_rows(m, BFLOAT16, rows, blocks, into);
  case FLOAT16: return decode_rows(m, FLOAT16, rows, blocks, into);
  case Q8_0: return decode_rows(m, Q8_0, rows, blocks, into);
  case Q4_0: return decode_rows(m, Q4_0, rows, blocks, into);
  case Q4_1: return decode_rows(m, Q4_1, rows, blocks, into);
  case Q5_0: return decode_rows(m, Q5_0, rows, blocks, into);
  case Q4_K: return decode_rows(m, Q4_K, rows, blocks, into);
  case Q5_K: return decode_rows(m, Q5_K, rows, blocks, into);
  case Q6_K: return decode_rows(m, Q6_K, rows, blocks, into);
  default: return decode_rows(m, Q5_1, rows, blocks, into);
  }
}

/** Some rows of some numbers as float32: where they are, or decoded, in whole blocks. */
static inline Matrix region_of(Matrix m, int64_t row, int64_t column, int64_t rows, int64_t columns, float *decoded) {
  const Matrix part = part_of(m, row, column);
  if (m.format == FLOAT32) return part;
  const int64_t blocks = (columns + STORED_BLOCK - 1) / STORED_BLOCK;
  decode(&part, rows, blocks, decoded);
  return floats(decoded, blocks * STORED_BLOCK);
}
