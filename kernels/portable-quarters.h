// Functions of four numbers at once without intrinsics: vectors of GCC and Clang, for all other processors.
#pragma once

#include <math.h>

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));
typedef uint32_t FourBits __attribute__((vector_size(16)));
typedef uint8_t Bytes __attribute__((vector_size(16)));

#if defined __x86_64__
enum { QUARTER_REGISTERS = 16 };
#else
enum { QUARTER_REGISTERS = 32 };
#endif

static inline Four chosen(FourInts mask, Four x, Four y) { return (Four)((mask & (FourInts)x) | (~mask & (FourInts)y)); }
/** Rounded once if the processor has an instruction for it, otherwise twice. */
static inline Four four_fmadd(Four x, Four y, Four z) { return x * y + z; }
static inline Four four_fnmadd(Four x, Four y, Four z) { return z - x * y; }
static inline Four four_roots(Four x) { return (Four){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])}; }

/** Numbers that are larger than 2²³ are whole; to others it is added, and its last bit is 1. */
static inline Four four_rounded(Four x) {
  const FourInts sign = (FourInts)x & INT32_MIN;
  const Four size = (Four)((FourInts)x & INT32_MAX), large = {0x1p23f, 0x1p23f, 0x1p23f, 0x1p23f};
  const Four rounded = (Four)((FourInts)((size + large) - large) | sign);
  return chosen((FourInts)(size < large), rounded, x);
}
/** Numbers that do not fit, and NaN, become the least integer, as on x86. */
static inline FourInts four_rounded_to_ints(Four x) {
  const Four rounded = four_rounded(x), limit = {0x1p31f, 0x1p31f, 0x1p31f, 0x1p31f};
  const FourInts fits = (FourInts)(rounded < limit) & (FourInts)(rounded >= -limit);
  return __builtin_convertvector((Four)((FourInts)rounded & fits), FourInts) | (~fits & INT32_MIN);
}

static inline FourInts four_words(const uint16_t *from) { return (FourInts){from[0], from[1], from[2], from[3]}; }

/** The exponent of float16 numbers has 5 bits and is 15 for 1, that of float32 numbers has 8 and is 127. */
static inline Four four_from_halves(const uint16_t *from) {
  const FourInts bits = four_words(from), size = bits & 0x7fff;
  const Four number = (Four)(size << 13) * 0x1p112f;
  const FourInts infinite = (FourInts)(size >= 0x7c00) & 0x7f800000;
  return (Four)((FourInts)number | infinite | (FourInts)((FourBits)(bits & 0x8000) << 16));
}
static inline void four_to_halves(uint16_t *into, Four x) {
  const FourInts bits = (FourInts)x, size = bits & INT32_MAX;
  // Numbers below 2⁻¹⁴ have no exponent of their own: the last bit of their sum with ½ is that of float16 numbers.
  const Four half = {0.5f, 0.5f, 0.5f, 0.5f};
  const FourInts small = (FourInts)((Four)size + half) - (FourInts)half;
  const FourInts usual = ((size - (112 << 23)) + 0xfff + ((size >> 13) & 1)) >> 13;
  const FourInts is_small = (FourInts)(size < 0x38800000), is_large = (FourInts)(size >= 0x47800000), is_nan = (FourInts)(size > 0x7f800000);
  FourInts rounded = (is_small & small) | (~is_small & usual);
  rounded = (is_large & 0x7c00) | (~is_large & rounded);
  rounded |= is_nan & 0x200;
  rounded |= (FourInts)((FourBits)bits >> 16) & 0x8000;
  for (int i = 0; i < 4; i++) into[i] = (uint16_t)rounded[i];
}

static inline void fours_of_bytes(Bytes x, FourInts into[4]) {
  for (int i = 0; i < 4; i++) into[i] = (FourInts){x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
}
static inline void fours_of_signed_bytes(Bytes x, FourInts into[4]) {
  fours_of_bytes(x, into);
  for (int i = 0; i < 4; i++) into[i] = (into[i] ^ 0x80) - 0x80;
}
/** The lowest bytes of four times four integers. */
static inline void store_bytes_of(uint8_t *into, FourInts a, FourInts b, FourInts c, FourInts d) {
  for (int i = 0; i < 4; i++) into[i] = (uint8_t)a[i], into[4 + i] = (uint8_t)b[i], into[8 + i] = (uint8_t)c[i], into[12 + i] = (uint8_t)d[i];
}
static inline void store_four_words(int16_t *into, FourInts x) {
  for (int i = 0; i < 4; i++) into[i] = (int16_t)x[i];
}

/** 16 integers of 16 bits, as long as they are multiplied, and four of them as they are in memory. */
typedef struct {
  FourInts of[4];
} Words;
typedef struct {
  int16_t of[4];
} FourWords;

static inline Words words_of_signed_bytes(Bytes x) {
  Words words;
  fours_of_signed_bytes(x, words.of);
  return words;
}
static inline FourInts add_four_multiples(FourInts sum, FourInts x, int32_t factor) {
  return (FourInts)((FourBits)sum + (FourBits)x * (uint32_t)factor);
}
