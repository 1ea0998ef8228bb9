// Functions of four numbers at once: NEON, which every 64-bit Arm processor has.
#pragma once

#include <arm_neon.h>

typedef float32x4_t Four;
typedef int32x4_t FourInts;
typedef uint32x4_t FourBits;
typedef uint8x16_t Bytes;

enum { QUARTER_REGISTERS = 32 };

static inline Four chosen(FourInts mask, Four x, Four y) { return vbslq_f32((FourBits)mask, x, y); }
static inline Four four_fmadd(Four x, Four y, Four z) { return vfmaq_f32(z, x, y); }
static inline Four four_fnmadd(Four x, Four y, Four z) { return vfmsq_f32(z, x, y); }
static inline Four four_roots(Four x) { return vsqrtq_f32(x); }
static inline Four four_rounded(Four x) { return vrndnq_f32(x); }
static inline FourInts four_rounded_to_ints(Four x) { return vcvtnq_s32_f32(x); }
static inline FourInts four_words(const uint16_t *from) { return (FourInts)vmovl_u16(vld1_u16(from)); }
static inline Four four_from_halves(const uint16_t *from) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))); }
static inline void four_to_halves(uint16_t *into, Four x) { vst1_u16(into, vreinterpret_u16_f16(vcvt_f16_f32(x))); }

static inline void fours_of_words(int16x8_t low, int16x8_t high, FourInts into[4]) {
  into[0] = vmovl_s16(vget_low_s16(low));
  into[1] = vmovl_high_s16(low);
  into[2] = vmovl_s16(vget_low_s16(high));
  into[3] = vmovl_high_s16(high);
}
static inline void fours_of_bytes(Bytes x, FourInts into[4]) {
  fours_of_words(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x))), vreinterpretq_s16_u16(vmovl_high_u8(x)), into);
}
static inline void fours_of_signed_bytes(Bytes x, FourInts into[4]) {
  const int8x16_t bytes = vreinterpretq_s8_u8(x);
  fours_of_words(vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes), into);
}
/** The lowest bytes of four times four integers. */
static inline void store_bytes_of(uint8_t *into, FourInts a, FourInts b, FourInts c, FourInts d) {
  const int8x16_t low = vuzp1q_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)),
                  high = vuzp1q_s8(vreinterpretq_s8_s32(c), vreinterpretq_s8_s32(d));
  vst1q_u8(into, vreinterpretq_u8_s8(vuzp1q_s8(low, high)));
}
static inline void store_four_words(int16_t *into, FourInts x) { vst1_s16(into, vqmovn_s32(x)); }

/** A call of an intrinsic with a lane, which must be a literal. */
#define WITH_LANE(lane, function, ...) \
  (lane == 0 ? function(__VA_ARGS__, 0) : lane == 1 ? function(__VA_ARGS__, 1) : lane == 2 ? function(__VA_ARGS__, 2) : function(__VA_ARGS__, 3))

/** Adds products of four numbers and one. With intrinsics, compilers copy sums between registers, and reorder so that too many numbers stay in registers. */
#define FMLA(lane) __asm__ volatile("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(sum) : "w"(numbers), "w"(x))
static inline __attribute__((always_inline)) Four add_four_multiples_of(Four sum, Four numbers, Four x, const int place) {
  switch (place) {
  case 0: FMLA(0); break;
  case 1: FMLA(1); break;
  case 2: FMLA(2); break;
  default: FMLA(3);
  }
  return sum;
}

/** 16 integers of 16 bits. */
typedef struct {
  int16x8_t low, high;
} Words;
typedef int16x4_t FourWords;

static inline Words words_of_signed_bytes(Bytes x) {
  const int8x16_t bytes = vreinterpretq_s8_u8(x);
  return (Words){vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)};
}
