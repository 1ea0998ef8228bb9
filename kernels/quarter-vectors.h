// A vector of 16 numbers in four registers of four: NEON (neon-quarters.h), or whatever the compiler has for vectors of 16 bytes (portable-quarters.h).
// vectors.h says what the functions do.
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __ARM_NEON
#include "neon-quarters.h"
#else
#include "portable-quarters.h"
#endif

enum { REGISTERS = 8 }; // or half as many: where there are fewer, some sums are in the first cache

typedef struct {
  Four a, b, c, d;
} Vector;
typedef struct {
  FourInts a, b, c, d;
} Ints;
typedef Ints Mask; // all bits of a lane, or none

/** Takes numbers from two registers by their places. */
#if defined __clang__ || __GNUC__ >= 12
#define SHUFFLED(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
#define SHUFFLED(x, y, i, j, k, l) __builtin_shuffle(x, y, (FourInts){i, j, k, l})
#endif

/** The same function of each quarter. */
#define QUARTERS_1(type, name, from, function) \
  static inline type name(from x) { return (type){function(x.a), function(x.b), function(x.c), function(x.d)}; }
#define QUARTERS_2(type, name, from, function) \
  static inline type name(from x, from y) { return (type){function(x.a, y.a), function(x.b, y.b), function(x.c, y.c), function(x.d, y.d)}; }
#define QUARTERS_3(name, function) \
  static inline Vector name(Vector x, Vector y, Vector z) { \
    return (Vector){function(x.a, y.a, z.a), function(x.b, y.b, z.b), function(x.c, y.c, z.c), function(x.d, y.d, z.d)}; \
  }

#define AND(x, y) ((x) & (y))
#define OR(x, y) ((x) | (y))
#define XOR(x, y) ((x) ^ (y))
#define AND_NOT(x, y) ((x) & ~(y))
#define LESS(x, y) ((FourInts)((x) < (y)))
#define GREATER(x, y) ((FourInts)((x) > (y)))
#define AT_LEAST(x, y) ((FourInts)((x) >= (y)))
#define EQUAL(x, y) ((FourInts)((x) == (y)))
#define DIFFERENT(x, y) ((FourInts)((x) != (y)))
#define CHOSEN(mask, x, y) (((mask) & (x)) | (~(mask) & (y)))

static inline Ints broadcast_ints(int32_t x) {
  const FourInts four = {x, x, x, x};
  return (Ints){four, four, four, four};
}
static inline Ints lane_indices(void) { return (Ints){{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}; }
QUARTERS_2(Mask, less_ints, Ints, LESS)
static inline Mask tail_mask(int64_t count) { return less_ints(lane_indices(), broadcast_ints(count > 16 ? 16 : count < 0 ? 0 : (int32_t)count)); }
QUARTERS_2(Mask, mask_and, Mask, AND)
QUARTERS_2(Mask, mask_andnot, Mask, AND_NOT)
static inline int is_empty(Mask mask) {
  const FourInts any = (mask.a | mask.b) | (mask.c | mask.d);
  return (any[0] | any[1] | any[2] | any[3]) == 0;
}
static inline Vector blend(Mask mask, Vector x, Vector y) {
  return (Vector){chosen(mask.a, x.a, y.a), chosen(mask.b, x.b, y.b), chosen(mask.c, x.c, y.c), chosen(mask.d, x.d, y.d)};
}
QUARTERS_2(Mask, gt, Vector, GREATER)
QUARTERS_2(Mask, ge, Vector, AT_LEAST)
QUARTERS_2(Mask, eq, Vector, EQUAL)
QUARTERS_2(Mask, ne, Vector, DIFFERENT)
static inline Mask is_nan(Vector x) { return ne(x, x); }

static inline Vector broadcast(float x) {
  const Four four = {x, x, x, x};
  return (Vector){four, four, four, four};
}
static inline Four load_four(const float *from) {
  Four x;
  memcpy(&x, from, sizeof x);
  return x;
}
static inline Vector load(const float *from) { return (Vector){load_four(from), load_four(from + 4), load_four(from + 8), load_four(from + 12)}; }
static inline void store(float *into, Vector x) {
  memcpy(into, &x.a, sizeof x.a);
  memcpy(into + 4, &x.b, sizeof x.b);
  memcpy(into + 8, &x.c, sizeof x.c);
  memcpy(into + 12, &x.d, sizeof x.d);
}
static inline Vector load_first(int64_t count, const float *from) {
  if (__builtin_expect(count >= 16, 1)) return load(from);
  float first[16] = {0};
  for (int64_t i = 0; i < count; i++) first[i] = from[i];
  return load(first);
}
static inline void store_first(int64_t count, float *into, Vector x) {
  if (__builtin_expect(count >= 16, 1)) return store(into, x);
  float all[16];
  store(all, x);
  for (int64_t i = 0; i < count; i++) into[i] = all[i];
}

#define SUM(x, y) ((x) + (y))
#define DIFFERENCE(x, y) ((x) - (y))
#define PRODUCT(x, y) ((x) * (y))
#define QUOTIENT(x, y) ((x) / (y))
QUARTERS_2(Vector, add, Vector, SUM)
QUARTERS_2(Vector, sub, Vector, DIFFERENCE)
QUARTERS_2(Vector, mul, Vector, PRODUCT)
QUARTERS_2(Vector, divide, Vector, QUOTIENT)
QUARTERS_3(fmadd, four_fmadd)
QUARTERS_3(fnmadd, four_fnmadd)
static inline Vector fmsub(Vector x, Vector y, Vector z) { return fmadd(x, y, (Vector){-z.a, -z.b, -z.c, -z.d}); }
static inline Four greater_of(Four x, Four y) { return chosen(GREATER(x, y), x, y); }
static inline Four lesser_of(Four x, Four y) { return chosen(LESS(x, y), x, y); }
QUARTERS_2(Vector, maximum, Vector, greater_of)
QUARTERS_2(Vector, minimum, Vector, lesser_of)
QUARTERS_1(Vector, square_root, Vector, four_roots)
QUARTERS_1(Vector, round_nearest, Vector, four_rounded)

static inline float first_lane(Vector x) { return x.a[0]; }

/** Sums, greatest and least numbers of halves, and then of their halves. */
#define REDUCED(type, name, from, function) \
  static inline type name(from x) { \
    const __typeof__(x.a) four = function(function(x.a, x.c), function(x.b, x.d)), two = function(four, SHUFFLED(four, four, 2, 3, 2, 3)); \
    return function(two, SHUFFLED(two, two, 1, 1, 1, 1))[0]; \
  }
REDUCED(float, hsum, Vector, SUM)
REDUCED(float, hmax, Vector, greater_of)
REDUCED(float, hmin, Vector, lesser_of)

/** Sums of integers may wrap around. */
#define INTS_SUM(x, y) ((FourInts)((FourBits)(x) + (FourBits)(y)))
#define INTS_DIFFERENCE(x, y) ((FourInts)((FourBits)(x) - (FourBits)(y)))
static inline Ints as_ints(Vector x) { return (Ints){(FourInts)x.a, (FourInts)x.b, (FourInts)x.c, (FourInts)x.d}; }
static inline Vector as_floats(Ints x) { return (Vector){(Four)x.a, (Four)x.b, (Four)x.c, (Four)x.d}; }
QUARTERS_1(Ints, round_to_ints, Vector, four_rounded_to_ints)
#define TO_FLOATS(x) __builtin_convertvector(x, Four)
QUARTERS_1(Vector, ints_to_floats, Ints, TO_FLOATS)
QUARTERS_2(Ints, add_ints, Ints, INTS_SUM)
QUARTERS_2(Ints, sub_ints, Ints, INTS_DIFFERENCE)
static inline FourInts greater_ints(FourInts x, FourInts y) { return CHOSEN(GREATER(x, y), x, y); }
QUARTERS_2(Ints, max_ints, Ints, greater_ints)
QUARTERS_2(Ints, bits_and, Ints, AND)
QUARTERS_2(Ints, bits_or, Ints, OR)
QUARTERS_2(Ints, bits_xor, Ints, XOR)
static inline Vector masked(Mask mask, Vector x) { return as_floats(bits_and(mask, as_ints(x))); }
#define SHIFTED(name, type, operator) \
  static inline Ints name(Ints x, int bits) { \
    return (Ints){(FourInts)((type)x.a operator bits), (FourInts)((type)x.b operator bits), (FourInts)((type)x.c operator bits), \
                  (FourInts)((type)x.d operator bits)}; \
  }
SHIFTED(shift_left, FourBits, <<)
SHIFTED(shift_right, FourBits, >>)
SHIFTED(shift_right_signed, FourInts, >>)
REDUCED(int32_t, hsum_ints, Ints, INTS_SUM)
REDUCED(int32_t, hmax_ints, Ints, greater_ints)

#include "exponents.h"

static inline Bytes load_bytes(const uint8_t *from) {
  Bytes x;
  memcpy(&x, from, sizeof x);
  return x;
}
static inline Bytes low_nibbles(Bytes x) { return x & 15; }
static inline Bytes high_nibbles(Bytes x) { return x >> 4; }
static inline Ints bytes_to_ints(Bytes x) {
  FourInts fours[4];
  fours_of_bytes(x, fours);
  return (Ints){fours[0], fours[1], fours[2], fours[3]};
}
static inline Ints signed_bytes_to_ints(Bytes x) {
  FourInts fours[4];
  fours_of_signed_bytes(x, fours);
  return (Ints){fours[0], fours[1], fours[2], fours[3]};
}
static inline void store_lowest_bytes(uint8_t *into, Ints x) { store_bytes_of(into, x.a, x.b, x.c, x.d); }
static inline void store_words(int16_t *into, Ints x) {
  store_four_words(into, x.a);
  store_four_words(into + 4, x.b);
  store_four_words(into + 8, x.c);
  store_four_words(into + 12, x.d);
}
static inline Ints bit_for_each(uint32_t bits) {
  const Ints bit = {{1, 2, 4, 8}, {16, 32, 64, 128}, {256, 512, 1024, 2048}, {4096, 8192, 16384, 32768}};
  const Ints set = bits_and(bit, broadcast_ints((int32_t)bits)), zero = broadcast_ints(0);
  return bits_and((Ints){DIFFERENT(set.a, zero.a), DIFFERENT(set.b, zero.b), DIFFERENT(set.c, zero.c), DIFFERENT(set.d, zero.d)}, broadcast_ints(1));
}

static inline Vector from_halves(const void *from) {
  const uint16_t *halves = from;
  return (Vector){four_from_halves(halves), four_from_halves(halves + 4), four_from_halves(halves + 8), four_from_halves(halves + 12)};
}
static inline void store_halves(void *into, Vector x) {
  uint16_t *halves = into;
  four_to_halves(halves, x.a);
  four_to_halves(halves + 4, x.b);
  four_to_halves(halves + 8, x.c);
  four_to_halves(halves + 12, x.d);
}
static inline float half_at(const void *from) {
  uint16_t half, four[4] = {0};
  memcpy(&half, from, sizeof half);
  four[0] = half;
  return four_from_halves(four)[0];
}
static inline Vector broadcast_half(const void *from) { return broadcast(half_at(from)); }
static inline uint16_t half_of(float x) {
  uint16_t four[4];
  four_to_halves(four, (Four){x, x, x, x});
  return four[0];
}
static inline Vector from_bfloat16(const void *from) {
  const uint16_t *words = from;
  return as_floats(shift_left((Ints){four_words(words), four_words(words + 4), four_words(words + 8), four_words(words + 12)}, 16));
}

/** Transposes 4 × 4 numbers of 32 bits. */
static inline void transpose_four(FourInts *a, FourInts *b, FourInts *c, FourInts *d) {
  const FourInts ab_low = SHUFFLED(*a, *b, 0, 4, 1, 5), ab_high = SHUFFLED(*a, *b, 2, 6, 3, 7);
  const FourInts cd_low = SHUFFLED(*c, *d, 0, 4, 1, 5), cd_high = SHUFFLED(*c, *d, 2, 6, 3, 7);
  *a = SHUFFLED(ab_low, cd_low, 0, 1, 4, 5);
  *b = SHUFFLED(ab_low, cd_low, 2, 3, 6, 7);
  *c = SHUFFLED(ab_high, cd_high, 0, 1, 4, 5);
  *d = SHUFFLED(ab_high, cd_high, 2, 3, 6, 7);
}

/** Stores 4 × 16 numbers as 16 × 4. */
static inline void store_transposed(Vector rows[4], float *into, int64_t stride) {
  Ints *r = (Ints *)rows;
  transpose_four(&r[0].a, &r[1].a, &r[2].a, &r[3].a);
  transpose_four(&r[0].b, &r[1].b, &r[2].b, &r[3].b);
  transpose_four(&r[0].c, &r[1].c, &r[2].c, &r[3].c);
  transpose_four(&r[0].d, &r[1].d, &r[2].d, &r[3].d);
  UNROLLED
  for (int i = 0; i < 4; i++) {
    memcpy(into + i * stride, &r[i].a, sizeof r->a);
    memcpy(into + (4 + i) * stride, &r[i].b, sizeof r->b);
    memcpy(into + (8 + i) * stride, &r[i].c, sizeof r->c);
    memcpy(into + (12 + i) * stride, &r[i].d, sizeof r->d);
  }
}

static inline void transpose(Ints *rows) {
  UNROLLED
  for (int i = 0; i < 16; i += 4) {
    transpose_four(&rows[i].a, &rows[i + 1].a, &rows[i + 2].a, &rows[i + 3].a);
    transpose_four(&rows[i].b, &rows[i + 1].b, &rows[i + 2].b, &rows[i + 3].b);
    transpose_four(&rows[i].c, &rows[i + 1].c, &rows[i + 2].c, &rows[i + 3].c);
    transpose_four(&rows[i].d, &rows[i + 1].d, &rows[i + 2].d, &rows[i + 3].d);
  }
#define EXCHANGED(x, y) \
  do { \
    const FourInts before = x; \
    x = y; \
    y = before; \
  } while (0)
  UNROLLED
  for (int i = 0; i < 4; i++) {
    EXCHANGED(rows[i].b, rows[4 + i].a);
    EXCHANGED(rows[i].c, rows[8 + i].a);
    EXCHANGED(rows[i].d, rows[12 + i].a);
    EXCHANGED(rows[4 + i].c, rows[8 + i].b);
    EXCHANGED(rows[4 + i].d, rows[12 + i].b);
    EXCHANGED(rows[8 + i].d, rows[12 + i].c);
  }
}

/** The sums of four vectors. */
static inline Four sum_four(const Vector v[4]) {
  FourInts sums[4];
  UNROLLED
  for (int i = 0; i < 4; i++) sums[i] = (FourInts)((v[i].a + v[i].c) + (v[i].b + v[i].d));
  transpose_four(sums, sums + 1, sums + 2, sums + 3);
  return ((Four)sums[0] + (Four)sums[2]) + ((Four)sums[1] + (Four)sums[3]);
}
static inline Vector sum_each(const Vector v[16]) { return (Vector){sum_four(v), sum_four(v + 4), sum_four(v + 8), sum_four(v + 12)}; }

/** Adds products of 16 integers of 16 bits and one of four. */
static inline __attribute__((always_inline)) Ints add_multiple_of_words(Ints sum, Words words, FourWords x, const int place) {
#ifdef __ARM_NEON
  return (Ints){WITH_LANE(place, vmlal_lane_s16, sum.a, vget_low_s16(words.low), x), WITH_LANE(place, vmlal_high_lane_s16, sum.b, words.low, x),
                WITH_LANE(place, vmlal_lane_s16, sum.c, vget_low_s16(words.high), x), WITH_LANE(place, vmlal_high_lane_s16, sum.d, words.high, x)};
#else
  return (Ints){add_four_multiples(sum.a, words.of[0], x.of[place]), add_four_multiples(sum.b, words.of[1], x.of[place]),
                add_four_multiples(sum.c, words.of[2], x.of[place]), add_four_multiples(sum.d, words.of[3], x.of[place])};
#endif
}

/** Adds products of 16 numbers and one of four. */
static inline __attribute__((always_inline)) Vector add_multiple_of(Vector sum, Vector numbers, Four x, const int place) {
#ifdef __ARM_NEON
  return (Vector){add_four_multiples_of(sum.a, numbers.a, x, place), add_four_multiples_of(sum.b, numbers.b, x, place),
                  add_four_multiples_of(sum.c, numbers.c, x, place), add_four_multiples_of(sum.d, numbers.d, x, place)};
#else
  return fmadd(broadcast(x[place]), numbers, sum);
#endif
}
