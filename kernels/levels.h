// Right operands as small integers, the levels of their numbers: number = scale · level + offset, by block.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "platform.h"
#include "product.h"

/** How 32 columns of a block are laid out: two tiles of levels, then scales, then offsets, one for each column. */
typedef struct {
  int deep; // numbers of a column in a block
  int bits; // of a level: 8, or 4, with those of the second tile in the upper halves of bytes
  int together; // levels of a column side by side: as many products as the unit adds to a sum at once
  int row_bytes; // of the integers that levels are multiplied with
  int halves; // whether scales and offsets are float16
  int offsets; // whether there are any
} Coding;

#if defined __AVX512F__ || defined __ARM_FEATURE_DOTPROD
static const Coding of_8_bits = {64, 8, 4, 2, 0, 0};
#elif defined __AVX2__ // multiplies integers of 8 bits only where sums of some products fit into 16, as those with 4 bits do
static const Coding of_8_bits = {64, 8, 2, 2, 0, 0};
#else
static const Coding of_8_bits = {64, 8, 1, 2, 0, 0};
#endif
/** Rounding rows to 8 bits, 32 numbers to a scale, costs less precision than 4 bits do; on some units it would gain nothing. */
#ifdef __AMX_INT8__
static const Coding of_4_bits = {32, 4, 4, 2, 1, 1};
#elif defined __AVX2__ || defined __ARM_FEATURE_DOTPROD
static const Coding of_4_bits = {32, 4, 4, 1, 1, 1};
#else
static const Coding of_4_bits = {32, 4, 1, 2, 1, 1};
#endif

static inline int64_t level_bytes(Coding c) { return (int64_t)c.deep * BLOCK * c.bits / 8; }
static inline int64_t scale_bytes(Coding c) { return BLOCK * (c.halves ? sizeof(uint16_t) : sizeof(float)); }
static inline int64_t coded_bytes(Coding c) { return level_bytes(c) + scale_bytes(c) * (1 + c.offsets); }

/** A right operand, panel by panel, `groups` blocks deep. */
typedef struct Levels {
  Coding coding;
  int64_t groups;
  uint8_t *blocks;
} Levels;

/** Writes 16 levels of a column, from its number `k` on. A row of a tile has some numbers of each of 16 columns. Levels must be 0 before. */
static void put_levels(uint8_t *block, Coding c, int64_t column, int64_t k, const uint8_t levels[16]) {
  const int64_t tile = column / 16, shift = c.bits == 4 ? 4 * tile : 0;
  uint8_t *at = block + (c.bits == 8 ? tile * 16 * c.deep : 0) + 16 * k + column % 16 * c.together;
  for (int64_t i = 0; i < 16; i += c.together, at += 16 * c.together) {
    uint32_t before = 0, added = 0;
    memcpy(&before, at, c.together);
    memcpy(&added, levels + i, c.together);
    before |= added << shift;
    memcpy(at, &before, c.together);
  }
}

/** Writes a scale, or with `index` 1 an offset, and returns it as it was rounded. */
static float put_scale(uint8_t *block, Coding c, int64_t column, int index, float x) {
  uint8_t *scales = block + level_bytes(c) + index * scale_bytes(c);
  if (!c.halves) {
    memcpy(scales + column * sizeof x, &x, sizeof x);
    return x;
  }
  const uint16_t bits = half_of(x);
  memcpy(scales + column * sizeof bits, &bits, sizeof bits);
  return half_at(&bits);
}

/** Writes the nearest integers to 16 numbers. */
static inline void put_nearest(uint8_t *block, Coding c, int64_t column, int64_t k, Vector numbers) {
  uint8_t levels[16];
  store_lowest_bytes(levels, round_to_ints(numbers));
  put_levels(block, c, column, k, levels);
}

/** The largest of 64 numbers becomes ±127. NaN is ignored in extremes, here and below. */
static void round_to_8(const float *numbers, int64_t column, uint8_t *block) {
  Vector greatest = broadcast(0);
  for (int64_t k = 0; k < of_8_bits.deep; k += 16) greatest = maximum(absolute(load(numbers + k)), greatest);
  const float largest = hmax(greatest);
  put_scale(block, of_8_bits, column, 0, largest / 127);
  const Vector factor = broadcast(largest > 0 ? 127 / largest : 0);
  for (int64_t k = 0; k < of_8_bits.deep; k += 16) put_nearest(block, of_8_bits, column, k, mul(load(numbers + k), factor));
}

/** The least of 32 numbers becomes 0, the largest 15. */
static void round_to_4(const float *numbers, int64_t column, uint8_t *block) {
  Vector lowest = broadcast(INFINITY), highest = broadcast(-INFINITY);
  for (int64_t k = 0; k < of_4_bits.deep; k += 16) {
    lowest = minimum(load(numbers + k), lowest);
    highest = maximum(load(numbers + k), highest);
  }
  const float lowest_level = put_scale(block, of_4_bits, column, 1, hmin(lowest));
  const float scale = put_scale(block, of_4_bits, column, 0, (hmax(highest) - lowest_level) / 15);
  for (int64_t k = 0; k < of_4_bits.deep; k += 16) {
    const Vector levels = scale > 0 ? divide(sub(load(numbers + k), broadcast(lowest_level)), broadcast(scale)) : broadcast(0);
    put_nearest(block, of_4_bits, column, k, minimum(maximum(levels, broadcast(0)), broadcast(15)));
  }
}

/** Whether a file's numbers have levels of 4 bits, 32 to a scale. */
static int has_levels_of_4(Format format) { return format == Q4_0 || format == Q4_1 || format == Q4_K; }

/** Keeps the levels of a block, so that numbers keep their values; those of Q4_K nearly, because their scales and offsets exceed float16. */
static void copy_levels(Matrix m, int64_t column, uint8_t *block) {
  const uint8_t *from = m.numbers, *bytes = from + 2;
  uint8_t levels[BLOCK];
  float scale = half_at(from), offset = -8 * scale;
  if (m.format == Q4_1) offset = half_at(bytes), bytes += 2;
  if (m.format == Q4_K) {
    Vector scales, minima;
    read_scales_of(from, m.block, &scales, &minima);
    scale = first_lane(scales), offset = -first_lane(minima);
    bytes = from + 16 + BLOCK * (m.block / 2);
    for (int i = 0; i < BLOCK; i++) levels[i] = m.block % 2 ? bytes[i] >> 4 : bytes[i] & 15;
  } else
    for (int i = 0; i < BLOCK; i++) levels[i] = i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4;
  put_scale(block, of_4_bits, column, 0, scale);
  put_scale(block, of_4_bits, column, 1, offset);
  for (int i = 0; i < BLOCK; i += 16) put_levels(block, of_4_bits, column, i, levels + i);
}

/** Up to 64 numbers of each of 32 columns of a right operand; beyond its edges are zeros. */
static void read_columns_of(const Product *p, int64_t start, int64_t first, int64_t deep, float into[BLOCK][2 * BLOCK]) {
  memset(into, 0, BLOCK * 2 * BLOCK * sizeof(float));
  const int64_t columns = least(BLOCK, p->columns - first);
  float decoded[BLOCK * BLOCK];
  for (int64_t part = 0; part < deep && start + part < p->depth; part += BLOCK) {
    const int64_t from = start + part, depth = least(BLOCK, p->depth - from);
    const Matrix block =
        p->right_transposed ? region_of(p->right, first, from, columns, BLOCK, decoded) : region_of(p->right, from, first, depth, BLOCK, decoded);
    const int64_t along = p->right_transposed ? 1 : block.stride, across = p->right_transposed ? block.stride : 1;
    for (int64_t column = 0; column < columns; column++) {
      const float *from = (const float *)block.numbers + column * across;
      if (along == 1) memcpy(into[column] + part, from, depth * sizeof *from);
      else
        for (int64_t k = 0; k < depth; k++) into[column][part + k] = from[k * along];
    }
  }
}

/** Makes levels of 8 or 4 bits, which the caller frees, of the right operand. Returns null if there is no memory. */
static Levels *make_levels(const Product *p, int bits) {
  const Coding c = bits == 8 ? of_8_bits : of_4_bits;
  const int copies = bits == 4 && p->right_transposed && has_levels_of_4(p->right.format);
  const int64_t panels = ceiling(p->columns, BLOCK), groups = ceiling(p->depth, c.deep), size = coded_bytes(c);
  Levels *made = malloc(sizeof *made);
  uint8_t *blocks = allocate(panels * groups * size), *into = blocks;
  if (!made || !blocks) {
    free(made);
    release(blocks);
    return 0;
  }
  *made = (Levels){c, groups, blocks};
  memset(blocks, 0, panels * groups * size);
  float numbers[BLOCK][2 * BLOCK];
  for (int64_t panel = 0; panel < panels; panel++)
    for (int64_t group = 0; group < groups; group++, into += size) {
      const int64_t first = panel * BLOCK, start = group * c.deep;
      if (!copies) read_columns_of(p, start, first, c.deep, numbers);
      for (int64_t column = 0; column < least(BLOCK, p->columns - first); column++)
        if (copies) copy_levels(part_of(p->right, first + column, start), column, into);
        else (bits == 8 ? round_to_8 : round_to_4)(numbers[column], column, into);
    }
  return made;
}

static void free_levels(Levels *levels) {
  if (levels) release(levels->blocks);
  free(levels);
}
