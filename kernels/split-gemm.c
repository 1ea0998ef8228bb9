// A matrix product for ONNX Runtime that uses the bfloat16 matrix units of x86 processors (AMX) for float32 operands.
//
// Each number is split into two bfloat16 numbers, x = high + low, which keep 16 of its 24 bits. The product is
// high·high + high·low + low·high, summed in float32: its relative error is about 4e-6, while that of bfloat16 alone is 2e-3
// (Henry, Tang & Heinecke 2019, arXiv:1904.06376; PyTorch calls this precision "high").
//
// Operands are cut into tiles of 16 × 32 numbers, as large as a register of the matrix unit, and packed: into strips of 32 rows of the
// left operand and panels of 32 columns of the right one. Where a strip meets a panel, four tiles of the result stay in registers.
// Threads share out the panels, and the strips too if there are few panels. A sum has the same order whatever they share out.

#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint16_t bfloat16;

enum {
  BLOCK = 32,               // rows, columns and depth of what is multiplied at once: 2 × 2 tiles
  TILE = 512,               // numbers in a tile
  HIGH = 2 * TILE,          // the high parts of a packed block; its low parts follow
  WHOLE = 4 * TILE,         // a packed block with both
  DEPTH = 1536,             // of what is packed at once, so that it fits into caches
  GROUP_BYTES = 640 * 1024, // of packed panels in a task: well inside a core's second cache
  TASKS = 8,                // at least, so that threads end at about the same time
  FEW = 4,                  // rows
};

/** result = alpha · left · right + addend + another product. Matrices are stored row by row. */
typedef struct Product {
  const float *left, *right, *addend; // the addend may be null
  float *result;
  long rows, columns, depth;
  int left_transposed, right_transposed; // stored as [depth, rows] and [columns, depth]
  float alpha;
  const bfloat16 *packed; // the right operand, if it was packed before
  long packed_block;      // WHOLE, or HIGH if it has only high parts
  const int8_t *rounded;  // the right operand, if it was rounded to 8 bits before
  const float *scales;
  const struct Product *other; // or null; a thin product of the same size, of which only the operands count
} Product;

static long ceiling(long a, long b) { return (a + b - 1) / b; }
static long least(long a, long b) { return a < b ? a : b; }

// ------------------------------------------------------------------------------------------------ splitting and packing

typedef struct { __m512i high, low; } Split;

/** Splits 32 numbers, in their order. */
static inline Split split(__m512 first, __m512 second) {
  const __m512i high = (__m512i)_mm512_cvtne2ps_pbh(second, first);
  const __m512 high_first = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)), 16);
  const __m512 high_second = (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16);
  const __m512i low = (__m512i)_mm512_cvtne2ps_pbh(_mm512_sub_ps(second, high_second), _mm512_sub_ps(first, high_first));
  return (Split){high, low};
}

static inline __mmask16 mask_of(long count) { return count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1; }

/** A tile in two halves, high and low parts of its numbers: 16 rows of 32. */
typedef struct { __m512i high[16], low[16]; } Tile;

/** 16 rows of a matrix, 32 numbers of each; what lies beyond `rows` and `columns` is 0. */
static inline Tile read_rows(const float *from, long stride, long rows, long columns, __m512 scale) {
  const __mmask16 first = mask_of(columns), second = mask_of(columns - 16);
  Tile tile;
  for (long row = 0; row < 16; row++, from += stride) {
    Split parts = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    if (row < rows) {
      for (int ahead = 64; ahead < 96; ahead += 16) _mm_prefetch((const char *)(from + ahead), _MM_HINT_T0);
      parts = split(_mm512_mul_ps(scale, _mm512_maskz_loadu_ps(first, from)),
                    _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(second, from + 16)));
    }
    tile.high[row] = parts.high;
    tile.low[row] = parts.low;
  }
  return tile;
}

/** 32 rows of a matrix, 16 numbers of each, in pairs: a row of the tile has the numbers of two rows, in alternation. */
static inline Tile read_pairs(const float *from, long stride, long rows, long columns, __m512 scale) {
  static const bfloat16 order[32] = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleave = _mm512_loadu_si512(order);
  const __mmask16 mask = mask_of(columns);
  Tile tile;
  for (long pair = 0; pair < 16; pair++, from += 2 * stride) {
    const __m512 even = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(2 * pair < rows ? mask : 0, from));
    const __m512 odd = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(2 * pair + 1 < rows ? mask : 0, from + stride));
    const Split parts = split(even, odd);
    tile.high[pair] = _mm512_permutexvar_epi16(interleave, parts.high);
    tile.low[pair] = _mm512_permutexvar_epi16(interleave, parts.low);
  }
  return tile;
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

static inline void store(const Tile *tile, bfloat16 *into) {
  for (int row = 0; row < 16; row++) {
    _mm512_store_si512(into + 32 * row, tile->high[row]);
    _mm512_store_si512(into + 32 * row + 2 * TILE, tile->low[row]);
  }
}

/**
 * Packs a block of an operand. Tiles of a left operand have its rows. Tiles of a right operand have pairs of its rows: transposed, as
 * numbers of 32 bits, these are tiles of its columns.
 * @param stride of the operand in memory
 * @param along whether neighbours in memory are neighbours in depth
 * @param pairs whether tiles have pairs
 * @param width rows of a left operand or columns of a right one, from here to the end. What has no place in the result may hold anything
 */
static inline void pack(const float *from, long stride, int along, int pairs, long width, long depth, float factor, bfloat16 *into) {
  const __m512 scale = _mm512_set1_ps(factor);
  for (long half = 0; half < 2 && 16 * half < width; half++) {
    Tile tile = along ? read_rows(from + 16 * half * stride, stride, width - 16 * half, depth, scale)
                      : read_pairs(from + 16 * half, stride, depth, width - 16 * half, scale);
    if (along == pairs) transpose(tile.high), transpose(tile.low);
    store(&tile, into + half * TILE);
  }
}

/** A panel of 32 rows from `row`, for `depth` numbers from `start`. */
static void pack_left(const Product *p, long row, long start, long depth, bfloat16 *into) {
  const long rows = p->rows - row;
  for (long k = start; k < start + depth; k += BLOCK, into += WHOLE)
    if (p->left_transposed) pack(p->left + k * p->rows + row, p->rows, 0, 0, rows, start + depth - k, p->alpha, into);
    else pack(p->left + row * p->depth + k, p->depth, 1, 0, rows, start + depth - k, p->alpha, into);
}

/** Panels of 32 columns each, from column `first` to `last`. */
static void pack_right(const Product *p, long first, long last, long start, long depth, bfloat16 *into) {
  const long size = ceiling(depth, BLOCK) * WHOLE;
  // In the order in which numbers are in memory.
  if (p->right_transposed) {
    for (long column = first; column < last; column += BLOCK, into += size)
      for (long k = 0; k < depth; k += BLOCK)
        pack(p->right + column * p->depth + start + k, p->depth, 1, 1, p->columns - column, depth - k, 1, into + k / BLOCK * WHOLE);
  } else {
    for (long k = 0; k < depth; k += BLOCK, into += WHOLE)
      for (long column = first; column < last; column += BLOCK)
        pack(p->right + (start + k) * p->columns + column, p->columns, 0, 1, p->columns - column, depth - k, 1,
             into + (column - first) / BLOCK * size);
  }
}

// ------------------------------------------------------------------------------------------------ rounding to 8 bits

// Panels of a right operand can be kept as integers of 8 bits, in the order of their tiles. The 64 numbers that are two blocks of a column
// share a scale, with which the largest becomes ±127.

enum { SHARING = 2 * BLOCK, LEVELS = 127, AHEAD = 2048 };

static float element(const Product *p, long row, long column) {
  if (row >= p->depth || column >= p->columns) return 0;
  return p->right_transposed ? p->right[column * p->depth + row] : p->right[row * p->columns + column];
}

/** Rounds the panel from `first`. `into` has BLOCK · BLOCK bytes for each block and `scales` BLOCK numbers for each two of them. */
static void round_panel(const Product *p, long first, int8_t *into, float *scales) {
  for (long start = 0; start < p->depth; start += SHARING, scales += BLOCK)
    for (long column = 0; column < BLOCK; column++) {
      float largest = 0;
      for (long k = 0; k < SHARING; k++) {
        const float x = fabsf(element(p, start + k, first + column));
        if (x > largest) largest = x;
      }
      scales[column] = largest / LEVELS;
      const float inverse = largest > 0 ? LEVELS / largest : 0;
      for (long k = 0; k < SHARING && start + k < ceiling(p->depth, BLOCK) * BLOCK; k++) {
        int8_t *block = into + (start + k) / BLOCK * BLOCK * BLOCK;
        const long place = column / 16 * TILE + k % BLOCK / 2 * 32 + column % 16 * 2 + k % 2;
        block[place] = (int8_t)lrintf(element(p, start + k, first + column) * inverse);
      }
    }
}

/** Makes the high parts of panels, from column `first` to `last`, out of what was rounded: those of `blocks` blocks from `start`. */
static void expand_panels(const Product *p, long first, long last, long start, long blocks, bfloat16 *into) {
  const long all = ceiling(p->depth, BLOCK), groups = ceiling(p->depth, SHARING);
  static const int twice[16] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  const __m512i lower = _mm512_loadu_si512(twice), upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
  for (long panel = first / BLOCK; panel * BLOCK < last; panel++)
    for (long block = start / BLOCK; block < start / BLOCK + blocks; block++) {
      const int8_t *from = p->rounded + (panel * all + block) * BLOCK * BLOCK;
      const float *scales = p->scales + (panel * groups + block * BLOCK / SHARING) * BLOCK;
      for (long tile = 0; tile < 2; tile++) {
        const __m512 column_scales = _mm512_loadu_ps(scales + 16 * tile);
        const __m512 left = _mm512_permutexvar_ps(lower, column_scales), right = _mm512_permutexvar_ps(upper, column_scales);
        for (long pair = 0; pair < 16; pair++, from += 32, into += 32) {
          if (pair % 2 == 0) _mm_prefetch((const char *)(from + AHEAD), _MM_HINT_T0);
          const __m512 a = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
          const __m512 b = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(from + 16))));
          _mm512_store_si512(into, (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(b, right), _mm512_mul_ps(a, left)));
        }
      }
    }
}

// ------------------------------------------------------------------------------------------------ working memory

/** Memory is kept for the next product: touching new pages would take as long as packing. */
typedef struct { size_t bytes; void *memory; } Scratch;
enum { KEPT = 64 };
static Scratch kept[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/** Returns memory of at least that size: the smallest that is kept and fits, or new memory. `memory` is null if there is none. */
static Scratch borrow(size_t bytes) {
  Scratch found = {0, 0};
  pthread_mutex_lock(&lock);
  Scratch *best = 0;
  for (Scratch *slot = kept; slot < kept + KEPT; slot++)
    if (slot->memory && slot->bytes >= bytes && (!best || slot->bytes < best->bytes)) best = slot;
  if (!best) {
    // Something larger takes the place of the largest that is too small.
    for (Scratch *slot = kept; slot < kept + KEPT; slot++)
      if (slot->memory && (!best || slot->bytes > best->bytes)) best = slot;
    if (best) free(best->memory), best->memory = 0;
    best = 0;
  }
  if (best) found = *best, best->memory = 0;
  pthread_mutex_unlock(&lock);
  if (!found.memory) found = (Scratch){bytes, aligned_alloc(64, bytes)};
  return found;
}

static void give_back(Scratch scratch) {
  pthread_mutex_lock(&lock);
  Scratch *slot = kept;
  while (slot < kept + KEPT && slot->memory) slot++;
  if (slot < kept + KEPT) *slot = scratch, scratch.memory = 0;
  pthread_mutex_unlock(&lock);
  free(scratch.memory);
}

// ------------------------------------------------------------------------------------------------ multiplying

static void configure(void) {
  struct { uint8_t palette, start, reserved[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } __attribute__((aligned(64))) tiles;
  memset(&tiles, 0, sizeof tiles);
  tiles.palette = 1;
  for (int i = 0; i < 8; i++) tiles.row_bytes[i] = 64, tiles.rows[i] = 16;
  _tile_loadconfig(&tiles);
}

/** A block of the result. Blocks at its edges are computed elsewhere and copied. */
typedef struct {
  const float *base; // what products are added to, or null
  float *into;
  long stride, rows, columns;
} Target;

/** A strip of the left operand and a panel of the right one, of `blocks` blocks each. Those of the panel have `right_size` numbers. */
typedef struct { const bfloat16 *left, *right; long blocks, right_size; } Factors;

static inline void load_rights(const bfloat16 *right) {
  _tile_loadd(6, right, 64);
  _tile_loadd(7, right + TILE, 64);
}

static inline void multiply_four(void) {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/** Adds a product to four tiles of 32 rows. */
static inline void add_product(Factors f) {
  for (long block = 0; block < f.blocks; block++, f.left += WHOLE, f.right += f.right_size) {
    _tile_loadd(4, f.left + HIGH, 64);
    _tile_loadd(5, f.left + HIGH + TILE, 64);
    load_rights(f.right);
    multiply_four();
    _tile_loadd(4, f.left, 64);
    _tile_loadd(5, f.left + TILE, 64);
    multiply_four();
    if (f.right_size == HIGH) continue;
    load_rights(f.right + HIGH);
    multiply_four();
  }
}

/** The same for up to 16 rows, with two sums for each of two tiles, because sums in a row have to wait for each other. */
static inline void add_half_product(Factors f) {
  for (long block = 0; block < f.blocks; block++, f.left += WHOLE, f.right += f.right_size) {
    _tile_loadd(4, f.left, 64);
    _tile_loadd(5, f.left + HIGH, 64);
    load_rights(f.right);
    multiply_four();
    if (f.right_size == HIGH) continue;
    load_rights(f.right + HIGH);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
}

static inline void clear_tiles(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

static inline void load_tiles(const float *from, long stride) {
  _tile_loadd(0, from, stride * sizeof(float));
  _tile_loadd(1, from + 16, stride * sizeof(float));
  _tile_loadd(2, from + 16 * stride, stride * sizeof(float));
  _tile_loadd(3, from + 16 * stride + 16, stride * sizeof(float));
}

static inline void store_tiles(float *into, long stride) {
  _tile_stored(0, into, stride * sizeof(float));
  _tile_stored(1, into + 16, stride * sizeof(float));
  _tile_stored(2, into + 16 * stride, stride * sizeof(float));
  _tile_stored(3, into + 16 * stride + 16, stride * sizeof(float));
}

/** Computes a block of the result: the base and two products, the second of which may be empty. */
static void multiply(Factors first, Factors second, Target t) {
  if (t.rows == BLOCK && t.columns == BLOCK) {
    if (t.base) load_tiles(t.base, t.stride);
    else clear_tiles();
    add_product(first);
    add_product(second);
    store_tiles(t.into, t.stride);
    return;
  }
  float edge[BLOCK * BLOCK] __attribute__((aligned(64)));
  clear_tiles();
  if (t.rows > 16) {
    add_product(first);
    add_product(second);
    store_tiles(edge, BLOCK);
  } else {
    add_half_product(first);
    add_half_product(second);
    store_tiles(edge, BLOCK);
  }
  for (long row = 0; row < t.rows; row++)
    for (long half = 0; half < BLOCK; half += 16) {
      const __mmask16 mask = mask_of(t.columns - half);
      const long place = row * t.stride + half;
      __m512 sum = _mm512_load_ps(edge + row * BLOCK + half);
      if (t.rows <= 16) sum = _mm512_add_ps(sum, _mm512_load_ps(edge + (16 + row) * BLOCK + half));
      if (t.base) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, t.base + place));
      _mm512_mask_storeu_ps(t.into + place, mask, sum);
    }
}

// ------------------------------------------------------------------------------------------------ sharing out

/** One part of the depth of a product, and how it is divided into tasks. */
typedef struct {
  const Product *product;
  long start, depth, blocks; // where it begins, its size, and that in blocks
  const Product *other;      // the other product, which goes with the last part, and its size in blocks
  long other_blocks;
  long group, groups;        // panels of a task, and into how many groups they are divided
  long batch, batches;       // strips of a task, and into how many batches they are divided
  bfloat16 *strips;          // packed, if several groups read them; otherwise each task packs its own
  const float *padded;       // instead of all this, for few rows: the left operand, with zeros up to whole blocks
  atomic_int failed;
} Pass;

/** How many numbers a packed strip has: first those of the product, then those of the other one. */
static long strip_size(const Pass *pass) { return (pass->blocks + pass->other_blocks) * WHOLE; }

static void pack_strip(const Pass *pass, long row, bfloat16 *into) {
  pack_left(pass->product, row, pass->start, pass->depth, into);
  if (pass->other) pack_left(pass->other, row, 0, pass->other->depth, into + pass->blocks * WHOLE);
}

static void pack_strip_task(void *data, size_t index) {
  const Pass *pass = data;
  pack_strip(pass, (long)index * BLOCK, pass->strips + (long)index * strip_size(pass));
}

static void multiply_task(void *data, size_t index) {
  Pass *pass = data;
  const Product *p = pass->product;
  const long first_row = (long)index % pass->batches * pass->batch * BLOCK, last_row = least(p->rows, first_row + pass->batch * BLOCK);
  const long first = (long)index / pass->batches * pass->group * BLOCK, last = least(p->columns, first + pass->group * BLOCK);
  const Scratch scratch = borrow((1 + ceiling(last - first, BLOCK)) * strip_size(pass) * sizeof(bfloat16));
  if (!scratch.memory) {
    pass->failed = 1;
    return;
  }
  // A strip, the panels of the other product, and those of the product unless they are in memory as they are needed.
  bfloat16 *own_strip = scratch.memory, *other_panels = own_strip + strip_size(pass);
  const long other_size = pass->other_blocks * WHOLE;
  if (pass->other) pack_right(pass->other, first, last, 0, pass->other->depth, other_panels);
  const bfloat16 *panels;
  long panel_size, block_size = WHOLE;
  if (p->packed) {
    block_size = p->packed_block;
    panel_size = ceiling(p->depth, BLOCK) * block_size;
    panels = p->packed + first / BLOCK * panel_size + pass->start / BLOCK * block_size;
  } else {
    bfloat16 *own_panels = other_panels + ceiling(last - first, BLOCK) * other_size;
    if (p->rounded) {
      block_size = HIGH;
      expand_panels(p, first, last, pass->start, pass->blocks, own_panels);
    } else pack_right(p, first, last, pass->start, pass->depth, own_panels);
    panel_size = pass->blocks * block_size;
    panels = own_panels;
  }

  configure();
  const float *base = pass->start > 0 ? p->result : p->addend;
  for (long row = first_row; row < last_row; row += BLOCK) {
    const bfloat16 *strip = own_strip;
    if (pass->strips) strip = pass->strips + row / BLOCK * strip_size(pass);
    else pack_strip(pass, row, own_strip);
    for (long column = first; column < last; column += BLOCK) {
      const long panel = (column - first) / BLOCK, place = row * p->columns + column;
      multiply((Factors){strip, panels + panel * panel_size, pass->blocks, block_size},
               (Factors){strip + pass->blocks * WHOLE, other_panels + panel * other_size, pass->other_blocks, WHOLE},
               (Target){base ? base + place : 0, p->result + place, p->columns, least(BLOCK, p->rows - row),
                        least(BLOCK, p->columns - column)});
    }
  }
  _tile_release();
  give_back(scratch);
}

/** What is added to a result besides the product, for 16 columns of a row, of which `mask` says which there are. */
static __m512 addends(const Product *p, long row, long column, __mmask16 mask) {
  const Product *other = p->other;
  __m512 sum = p->addend ? _mm512_maskz_loadu_ps(mask, p->addend + row * p->columns + column) : _mm512_setzero_ps();
  if (!other) return sum;
  float products[16] = {0};
  for (long i = 0; i < least(16, p->columns - column); i++) {
    __m512 terms = _mm512_setzero_ps();
    for (long k = 0; other->right_transposed && k < other->depth; k += 16) {
      const __mmask16 there = mask_of(other->depth - k);
      terms = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(there, other->left + row * other->depth + k),
                              _mm512_maskz_loadu_ps(there, other->right + (column + i) * other->depth + k), terms);
    }
    products[i] = _mm512_reduce_add_ps(terms);
    for (long k = 0; !other->right_transposed && k < other->depth; k++)
      products[i] += other->left[row * other->depth + k] * element(other, k, column + i);
  }
  return _mm512_fmadd_ps(_mm512_loadu_ps(products), _mm512_set1_ps(other->alpha), sum);
}

// Products of few rows, for which tiles are not worth it, since most of them would be empty. Each adds up, for a panel, the sums of its
// rows in `sums[row][tile]`: two for each of 16 columns.

typedef struct { __m512 of[FEW][2][2]; } Sums;

/** What was packed as bfloat16 numbers: the two sums are of the numbers at even and at odd places in depth. */
static inline __attribute__((always_inline)) void add_packed(const Pass *pass, long panel, const int rows, Sums *sums) {
  const Product *p = pass->product;
  const long blocks = ceiling(p->depth, BLOCK);
  const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
  const bfloat16 *from = p->packed + panel * blocks * p->packed_block;
  for (long block = 0; block < blocks; block++, from += p->packed_block)
    for (int tile = 0; tile < 2; tile++)
      for (long pair = 0; pair < 16; pair++) {
        const bfloat16 *place = from + tile * TILE + pair * 32;
        _mm_prefetch((const char *)(place + AHEAD), _MM_HINT_T0);
        const __m512i high = _mm512_load_si512(place);
        __m512 even = (__m512)_mm512_slli_epi32(high, 16), odd = (__m512)_mm512_and_si512(high, upper);
        if (p->packed_block == WHOLE) {
          _mm_prefetch((const char *)(place + HIGH + AHEAD), _MM_HINT_T0);
          const __m512i low = _mm512_load_si512(place + HIGH);
          even = _mm512_add_ps(even, (__m512)_mm512_slli_epi32(low, 16));
          odd = _mm512_add_ps(odd, (__m512)_mm512_and_si512(low, upper));
        }
        for (int row = 0; row < rows; row++) {
          const float *x = pass->padded + (row * blocks + block) * BLOCK + 2 * pair;
          sums->of[row][tile][0] = _mm512_fmadd_ps(even, _mm512_set1_ps(x[0]), sums->of[row][tile][0]);
          sums->of[row][tile][1] = _mm512_fmadd_ps(odd, _mm512_set1_ps(x[1]), sums->of[row][tile][1]);
        }
      }
}

/** What was rounded to 8 bits: the two sums are of the first and of the last eight columns, two numbers for each. */
static inline __attribute__((always_inline)) void add_rounded(const Pass *pass, long panel, const int rows, Sums *sums) {
  const Product *p = pass->product;
  const long blocks = ceiling(p->depth, BLOCK), groups = ceiling(p->depth, SHARING);
  const __m512i lower = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  const __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
  const int8_t *from = p->rounded + panel * blocks * BLOCK * BLOCK;
  for (long group = 0; group < groups; group++) {
    Sums parts = {0};
    for (long block = 2 * group; block < least(2 * group + 2, blocks); block++)
      for (int tile = 0; tile < 2; tile++)
        for (long pair = 0; pair < 16; pair++, from += 32) {
          if (pair % 2 == 0) _mm_prefetch((const char *)(from + AHEAD), _MM_HINT_T0);
          const __m512 first = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
          const __m512 last = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(from + 16))));
          for (int row = 0; row < rows; row++) {
            double two;
            memcpy(&two, pass->padded + (row * blocks + block) * BLOCK + 2 * pair, sizeof two);
            const __m512 x = (__m512)_mm512_set1_pd(two);
            parts.of[row][tile][0] = _mm512_fmadd_ps(first, x, parts.of[row][tile][0]);
            parts.of[row][tile][1] = _mm512_fmadd_ps(last, x, parts.of[row][tile][1]);
          }
        }
    for (int tile = 0; tile < 2; tile++) {
      const __m512 scales = _mm512_loadu_ps(p->scales + (panel * groups + group) * BLOCK + 16 * tile);
      const __m512 of_first = _mm512_permutexvar_ps(lower, scales), of_last = _mm512_permutexvar_ps(upper, scales);
      for (int row = 0; row < rows; row++) {
        sums->of[row][tile][0] = _mm512_fmadd_ps(parts.of[row][tile][0], of_first, sums->of[row][tile][0]);
        sums->of[row][tile][1] = _mm512_fmadd_ps(parts.of[row][tile][1], of_last, sums->of[row][tile][1]);
      }
    }
  }
  const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
  for (int row = 0; row < rows; row++)
    for (int tile = 0; tile < 2; tile++) {
      const __m512 first = sums->of[row][tile][0], last = sums->of[row][tile][1];
      sums->of[row][tile][0] = _mm512_permutex2var_ps(first, evens, last);
      sums->of[row][tile][1] = _mm512_permutex2var_ps(first, odds, last);
    }
}

static inline __attribute__((always_inline)) void multiply_few(const Pass *pass, long panel, const int rows) {
  const Product *p = pass->product;
  Sums sums = {0};
  if (p->rounded) add_rounded(pass, panel, rows, &sums);
  else add_packed(pass, panel, rows, &sums);
  for (int row = 0; row < rows; row++)
    for (int tile = 0; tile < 2; tile++) {
      const long column = panel * BLOCK + 16 * tile;
      const __mmask16 mask = mask_of(p->columns - column);
      if (!mask) continue;
      const __m512 product = _mm512_add_ps(sums.of[row][tile][0], sums.of[row][tile][1]);
      _mm512_mask_storeu_ps(p->result + row * p->columns + column, mask, _mm512_add_ps(product, addends(p, row, column, mask)));
    }
}

static void multiply_few_task(void *data, size_t index) {
  const Pass *pass = data;
  switch (pass->product->rows) { // the loops over rows are unrolled
    case 1: multiply_few(pass, (long)index, 1); break;
    case 2: multiply_few(pass, (long)index, 2); break;
    case 3: multiply_few(pass, (long)index, 3); break;
    default: multiply_few(pass, (long)index, FEW);
  }
}

/** Calls `task` with 0 to `count` − 1, from several threads. Returns a status, which is null on success. */
static void *in_parallel(void *context, void (*task)(void *data, size_t index), long count, Pass *pass);
static void *out_of_memory(void);

static void *compute_few(const Product *p, void *context) {
  const long width = ceiling(p->depth, BLOCK) * BLOCK;
  const Scratch scratch = borrow(ceiling(p->rows * width * (long)sizeof(float), 64) * 64);
  float *padded = scratch.memory;
  if (!padded) return out_of_memory();
  for (long row = 0; row < p->rows; row++)
    for (long k = 0; k < width; k++) {
      const long place = p->left_transposed ? k * p->rows + row : row * p->depth + k;
      padded[row * width + k] = k < p->depth ? p->alpha * p->left[place] : 0;
    }
  Pass pass = {.product = p, .padded = padded};
  void *status = in_parallel(context, multiply_few_task, ceiling(p->columns, BLOCK), &pass);
  give_back(scratch);
  return status;
}

static void *compute_product(const Product *p, void *context) {
  if ((p->rounded || p->packed) && p->rows <= FEW) return compute_few(p, context);
  const long strips = ceiling(p->rows, BLOCK), panels = ceiling(p->columns, BLOCK);
  void *status = 0;
  for (long start = 0; start < p->depth && !status; start += DEPTH) {
    const long depth = least(DEPTH, p->depth - start), blocks = ceiling(depth, BLOCK);
    Pass pass = {.product = p, .start = start, .depth = depth, .blocks = blocks};
    if (p->other && start + depth == p->depth) {
      pass.other = p->other;
      pass.other_blocks = ceiling(p->other->depth, BLOCK);
    }
    const long fitting = GROUP_BYTES / (strip_size(&pass) * (long)sizeof(bfloat16));
    pass.group = least(fitting > 0 ? fitting : 1, panels > 2 * TASKS || strips < TASKS ? ceiling(panels, TASKS) : panels);
    pass.groups = ceiling(panels, pass.group);
    pass.batch = ceiling(strips, ceiling(TASKS, pass.groups));
    pass.batches = ceiling(strips, pass.batch);
    Scratch scratch = {0, 0};
    if (pass.groups > 1) {
      scratch = borrow(strips * strip_size(&pass) * sizeof(bfloat16));
      pass.strips = scratch.memory;
      if (!pass.strips) return out_of_memory();
      status = in_parallel(context, pack_strip_task, strips, &pass);
    }
    if (!status) status = in_parallel(context, multiply_task, pass.groups * pass.batches, &pass);
    if (scratch.memory) give_back(scratch);
    if (!status && pass.failed) status = out_of_memory();
  }
  return status;
}

/** Packs the right operand of a product. `block` is WHOLE or HIGH. Returns null if there is no memory. */
static bfloat16 *pack_panels(const Product *p, long block) {
  const long blocks = ceiling(p->depth, BLOCK), panels = ceiling(p->columns, BLOCK);
  bfloat16 *packed = aligned_alloc(64, panels * blocks * block * sizeof(bfloat16));
  bfloat16 *panel = aligned_alloc(64, blocks * WHOLE * sizeof(bfloat16));
  bfloat16 *into = packed;
  for (long column = 0; packed && panel && column < p->columns; column += BLOCK) {
    pack_right(p, column, least(p->columns, column + BLOCK), 0, p->depth, panel);
    for (long i = 0; i < blocks; i++, into += block) memcpy(into, panel + i * WHOLE, block * sizeof(bfloat16));
  }
  if (!panel) free(packed), packed = 0;
  free(panel);
  return packed;
}

/** Whether all numbers are bfloat16 numbers, as they are in most checkpoints: then they have no low parts. */
static int have_no_low_parts(const float *numbers, long count) {
  uint32_t lower = 0;
  for (long i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, numbers + i, sizeof bits);
    lower |= bits & 0xffff;
  }
  return lower == 0;
}

// ------------------------------------------------------------------------------------------------ the operator

// What we use of ONNX Runtime's C API: the indices of functions in the OrtApi struct, and the beginning of the OrtCustomOp struct.
// Both only grow at their ends.
typedef const void *const *Api;
enum {
  CREATE_STATUS = 0,
  CREATE_DOMAIN = 26,
  ADD_OPERATOR = 27,
  ADD_DOMAIN = 28,
  GET_DATA = 51,
  GET_RANK = 61,
  GET_SIZES = 62,
  GET_SHAPE = 65,
  GET_FLOAT = 85,
  GET_INTEGER = 86,
  COUNT_INPUTS = 88,
  GET_INPUT = 90,
  GET_OUTPUT = 91,
  RELEASE_SHAPE = 99,
  GET_CONSTANT = 249,
  PARALLEL_FOR = 274,
};
#define CALL(index, ...) ((void *(*)())api[index])(__VA_ARGS__)
enum { FAIL = 1, INVALID_ARGUMENT = 2 };
static Api api;

typedef struct Operator {
  uint32_t version;
  void *create_without_status;
  const char *(*name)(const struct Operator *);
  const char *(*provider)(const struct Operator *);
  int (*input_type)(const struct Operator *, size_t);
  size_t (*inputs)(const struct Operator *);
  int (*output_type)(const struct Operator *, size_t);
  size_t (*outputs)(const struct Operator *);
  void *compute_without_status;
  void (*destroy)(void *kernel);
  int (*input_kind)(const struct Operator *, size_t);
  int (*output_kind)(const struct Operator *, size_t);
  int (*input_memory)(const struct Operator *, size_t);
  void *variadic[4];
  void *(*create)(const struct Operator *, Api, const void *info, void **kernel);
  void *(*compute)(void *kernel, void *context);
} Operator;

/** A node of a graph. `packing` says whether the right operand, a constant, is packed once for all runs, and how. */
typedef struct {
  int64_t left_transposed, right_transposed, other_transposed;
  enum { UNPACKED, PACKED, PACKED_HIGH, ROUNDED } packing;
  float alpha, other_alpha;
  bfloat16 *packed;
  long packed_block;
  int8_t *rounded;
  float *scales;
} Kernel;

static void *out_of_memory(void) { return CALL(CREATE_STATUS, FAIL, "SplitGemm: out of memory"); }

static void *in_parallel(void *context, void (*task)(void *data, size_t index), long count, Pass *pass) {
  if (count > 1) return CALL(PARALLEL_FOR, context, task, (size_t)count, (size_t)0, pass);
  task(pass, 0);
  return 0;
}

/** The data of a matrix and its sizes. */
static void *read_matrix(const void *value, const float **data, int64_t sizes[2]) {
  void *shape, *status = CALL(GET_DATA, value, data);
  size_t rank;
  if (!status) status = CALL(GET_SHAPE, value, &shape);
  if (status) return status;
  status = CALL(GET_RANK, shape, &rank);
  if (!status && rank != 2) status = CALL(CREATE_STATUS, INVALID_ARGUMENT, "SplitGemm: an operand is not a matrix");
  if (!status) status = CALL(GET_SIZES, shape, sizes, (size_t)2);
  CALL(RELEASE_SHAPE, shape);
  return status;
}

/** The same of an input. One that is left out has no data. */
static void *read_input(const void *context, size_t index, const float **data, int64_t sizes[2]) {
  const void *value;
  size_t inputs;
  *data = 0;
  void *status = CALL(COUNT_INPUTS, context, &inputs);
  if (status || index >= inputs) return status;
  status = CALL(GET_INPUT, context, index, &value);
  return status || !value ? status : read_matrix(value, data, sizes);
}

static void *pack_constant(Kernel *kernel, const void *info) {
  const void *value;
  int constant = 0;
  int64_t sizes[2];
  Product p = {.right_transposed = (int)kernel->right_transposed};
  void *status = CALL(GET_CONSTANT, info, (size_t)1, &constant, &value);
  if (!status && !constant) status = CALL(CREATE_STATUS, INVALID_ARGUMENT, "SplitGemm: what is packed must be a constant");
  if (!status) status = read_matrix(value, &p.right, sizes);
  if (status) return status;
  p.columns = sizes[p.right_transposed ? 0 : 1];
  p.depth = sizes[p.right_transposed ? 1 : 0];
  if (kernel->packing == ROUNDED) {
    const long panels = ceiling(p.columns, BLOCK), blocks = ceiling(p.depth, BLOCK), groups = ceiling(p.depth, SHARING);
    kernel->rounded = malloc(panels * blocks * BLOCK * BLOCK);
    kernel->scales = malloc(panels * groups * BLOCK * sizeof(float));
    if (!kernel->rounded || !kernel->scales) return out_of_memory();
    for (long panel = 0; panel < panels; panel++)
      round_panel(&p, panel * BLOCK, kernel->rounded + panel * blocks * BLOCK * BLOCK, kernel->scales + panel * groups * BLOCK);
    return 0;
  }
  const int high = kernel->packing == PACKED_HIGH || have_no_low_parts(p.right, p.columns * p.depth);
  kernel->packed_block = high ? HIGH : WHOLE;
  kernel->packed = pack_panels(&p, kernel->packed_block);
  return kernel->packed ? 0 : out_of_memory();
}

static void destroy(void *data) {
  Kernel *kernel = data;
  free(kernel->packed);
  free(kernel->rounded);
  free(kernel->scales);
  free(kernel);
}

static void *create(const Operator *operator, Api ignored, const void *info, void **created) {
  Kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return out_of_memory();
  int64_t packing = UNPACKED;
  void *status = CALL(GET_INTEGER, info, "transA", &kernel->left_transposed);
  if (!status) status = CALL(GET_INTEGER, info, "transB", &kernel->right_transposed);
  if (!status) status = CALL(GET_FLOAT, info, "alpha", &kernel->alpha);
  if (!status) status = CALL(GET_INTEGER, info, "packing", &packing);
  if (!status) status = CALL(GET_INTEGER, info, "other_transB", &kernel->other_transposed);
  if (!status) status = CALL(GET_FLOAT, info, "other_alpha", &kernel->other_alpha);
  kernel->packing = packing;
  if (!status && packing != UNPACKED) status = pack_constant(kernel, info);
  if (status) destroy(kernel);
  else *created = kernel;
  return status;
}

static void *compute(void *data, void *context) {
  const Kernel *kernel = data;
  Product p = {.left_transposed = (int)kernel->left_transposed,
               .right_transposed = (int)kernel->right_transposed,
               .alpha = kernel->alpha,
               .packed = kernel->packed,
               .packed_block = kernel->packed_block,
               .rounded = kernel->rounded,
               .scales = kernel->scales};
  Product other = {.right_transposed = (int)kernel->other_transposed, .alpha = kernel->other_alpha};
  int64_t left[2], right[2], addend[2], other_left[2], other_right[2];
  void *output, *status = read_input(context, 0, &p.left, left);
  if (!status) status = read_input(context, 1, &p.right, right);
  if (!status) status = read_input(context, 2, &p.addend, addend);
  if (!status) status = read_input(context, 3, &other.left, other_left);
  if (!status) status = read_input(context, 4, &other.right, other_right);
  if (status) return status;
  p.rows = left[p.left_transposed ? 1 : 0];
  p.depth = left[p.left_transposed ? 0 : 1];
  p.columns = right[p.right_transposed ? 0 : 1];
  int64_t sizes[2] = {p.rows, p.columns};
  int fit = right[p.right_transposed ? 1 : 0] == p.depth && (!p.addend || !memcmp(addend, sizes, sizeof sizes));
  if (other.left && other.right) {
    const int columns = other.right_transposed ? 0 : 1;
    other.rows = p.rows;
    other.columns = p.columns;
    other.depth = other_left[1];
    fit = fit && other_left[0] == p.rows && other_right[columns] == p.columns && other_right[1 - columns] == other.depth;
    p.other = &other;
  }
  if (!fit) return CALL(CREATE_STATUS, INVALID_ARGUMENT, "SplitGemm: the sizes of the operands do not fit");
  status = CALL(GET_OUTPUT, context, (size_t)0, sizes, (size_t)2, &output);
  if (!status) status = CALL(GET_DATA, output, &p.result);
  return status || p.rows == 0 ? status : compute_product(&p, context);
}

static const char *name(const Operator *operator) { return "SplitGemm"; }
static const char *provider(const Operator *operator) { return "CPUExecutionProvider"; }
static int float32(const Operator *operator, size_t index) { return 1; }
static size_t five(const Operator *operator) { return 5; }
static size_t one(const Operator *operator) { return 1; }
static int input_kind(const Operator *operator, size_t index) { return index >= 2; } // the addend and the other product are optional
static int required(const Operator *operator, size_t index) { return 0; }
static int default_memory(const Operator *operator, size_t index) { return 0; }

static const Operator split_gemm = {
    .version = 16, // the first version with statuses
    .name = name,
    .provider = provider,
    .input_type = float32,
    .inputs = five,
    .output_type = float32,
    .outputs = one,
    .destroy = destroy,
    .input_kind = input_kind,
    .output_kind = required,
    .input_memory = default_memory,
    .create = create,
    .compute = compute,
};

typedef struct { Api (*get_api)(uint32_t version); } ApiBase;

/** ONNX Runtime calls it for each session that this library is registered with. */
void *RegisterCustomOps(void *options, const ApiBase *base) {
  static void *domain;
  void *status = 0;
  if (!domain) {
    api = base->get_api(25);
    status = CALL(CREATE_DOMAIN, "gradus", &domain);
    if (!status) status = CALL(ADD_OPERATOR, domain, &split_gemm);
  }
  return status ? status : CALL(ADD_DOMAIN, options, domain);
}

/** Asks the system to let this process use the matrix unit. Returns 0 if it does. */
int gradus_request_amx(void) {
  const int request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return (int)syscall(SYS_arch_prctl, request_permission, tile_data);
}
