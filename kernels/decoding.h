// Attention of single tokens over a cache, for decoding. The order of a row's sums depends on its position alone.
//
// Most time is spent reading the cache. Rows that begin with the same tokens therefore read the keys and values of these from one place, some rows at a
// time; only that place must have them.
#pragma once

#include "attention.h"
#include "thin-product.h"

enum {
  KEYS_AHEAD = 16, // of those that are multiplied, keys that are prefetched
  TOGETHER = 4, // rows at most that read the keys of one place together
  WIDE = REGISTERS / 8, // vectors of a value whose sums stay in registers
};

/** The other row whose cache begins with the same tokens, or the row itself, and how many. */
typedef struct {
  int64_t row, count;
} Twin;

typedef struct {
  const float *query; // rotated: [rows, heads · size]
  const void *keys, *values; // [rows, kv_heads, room, size], with those of the current token
  Format format; // of these, FLOAT32 or FLOAT16
  float *output; // [rows, heads · size]
  const int64_t *last; // the position of each slot's last token
  const Twin *twins; // of each slot
  int64_t rows, heads, kv_heads, size, room;
  int64_t steps; // rows one after another that share a slot of the caches, since they are tokens of one text
  int64_t window; // how many keys a token attends to, its own included; 0 for all
  float scale;
  int64_t *order; // rows, those with the same twin side by side
  int64_t *chunks; // where each chunk of them begins, and the end
  int64_t chunk_count;
  atomic_int failed;
} Step;

/** Scores of up to four queries for up to four keys: scores[query · stride + key]. */
static inline __attribute__((always_inline)) void score_square(const Step *s, const Format format, const int64_t size, const float *const *queries,
                                                               int64_t query_count, const void *keys, int64_t key_count, float *scores,
                                                               int64_t stride) {
  const float *query[SIDE];
  const void *key[SIDE];
  for (int i = 0; i < SIDE; i++) { // beyond the edges the last one again
    query[i] = queries[least(i, query_count - 1)];
    key[i] = place_at(format, keys, least(i, key_count - 1) * size);
  }
  write_square(mul(broadcast(s->scale), multiply_rows(query, key, format, size)), query_count, key_count, scores, stride);
}

/** Prefetches keys some squares ahead, which the processor does not foresee at the beginning of a row, and the values that are read next. */
static inline __attribute__((always_inline)) void prefetch_square(const Step *s, const Format format, const int64_t size, int64_t place) {
  const char *keys = place_at(format, s->keys, place + KEYS_AHEAD * size), *values = place_at(format, s->values, place);
  const int64_t bytes = SIDE * size * number_bytes(format);
  for (int64_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(keys + i, 0, 3);
    __builtin_prefetch(values + i, 0, 2);
  }
}

static inline __attribute__((always_inline)) void score_sized(const Step *s, const Format format, const int64_t size, const float *const *queries,
                                                              int64_t count, int64_t place, int64_t key_count, float *scores, int64_t stride) {
  for (int64_t key = 0; key < key_count; key += SIDE, place += SIDE * size) {
    prefetch_square(s, format, size, place);
    for (int64_t query = 0; query < count; query += SIDE)
      score_square(s, format, size, queries + query, count - query, place_at(format, s->keys, place), key_count - key, scores + query * stride + key,
                   stride);
  }
}

static inline __attribute__((always_inline)) void score_as(const Step *s, const Format format, const float *const *queries, int64_t count,
                                                           int64_t place, int64_t key_count, float *scores, int64_t stride) {
  switch (s->size) { // loops over common sizes are unrolled
  case 64: score_sized(s, format, 64, queries, count, place, key_count, scores, stride); break;
  case 128: score_sized(s, format, 128, queries, count, place, key_count, scores, stride); break;
  default: score_sized(s, format, s->size, queries, count, place, key_count, scores, stride);
  }
}

/** Scores of some queries for consecutive keys, the first of which is number `place` of all keys: scores[query · stride + key]. */
static void score(const Step *s, const float *const *queries, int64_t count, int64_t place, int64_t key_count, float *scores, int64_t stride) {
  if (s->format == FLOAT16) score_as(s, FLOAT16, queries, count, place, key_count, scores, stride);
  else score_as(s, FLOAT32, queries, count, place, key_count, scores, stride);
}

/** Adds values with their weights, for up to four queries and so many numbers of each: output += Σ weights[query · stride + key] · value. */
static inline __attribute__((always_inline)) void add_few(const int count, float *const *outputs, const Format format, const int64_t size,
                                                          const void *values, int64_t stride_of_values, int64_t key_count, const float *weights,
                                                          int64_t stride) {
  Vector sums[SIDE][WIDE];
  for (int i = 0; i < count; i++)
    for (int part = 0; part < WIDE; part++) sums[i][part] = load_first(size - 16 * part, outputs[i] + 16 * part);
  for (int64_t key = 0; key < key_count; key++)
    for (int part = 0; part < WIDE; part++) {
      const Vector value = numbers_at(format, size - 16 * part, values, key * stride_of_values + 16 * part);
      for (int i = 0; i < count; i++) sums[i][part] = fmadd(broadcast(weights[i * stride + key]), value, sums[i][part]);
    }
  for (int i = 0; i < count; i++)
    for (int part = 0; part < WIDE; part++) store_first(size - 16 * part, outputs[i] + 16 * part, sums[i][part]);
}

static inline __attribute__((always_inline)) void add_some(int64_t count, float *const *outputs, const Format format, const int64_t size,
                                                           const void *values, int64_t stride_of_values, int64_t key_count, const float *weights,
                                                           int64_t stride) {
  switch (count) { // loops over queries are unrolled
  case 1: add_few(1, outputs, format, size, values, stride_of_values, key_count, weights, stride); break;
  case 2: add_few(2, outputs, format, size, values, stride_of_values, key_count, weights, stride); break;
  case 3: add_few(3, outputs, format, size, values, stride_of_values, key_count, weights, stride); break;
  default: add_few(SIDE, outputs, format, size, values, stride_of_values, key_count, weights, stride);
  }
}

static inline __attribute__((always_inline)) void add_values_as(const Step *s, const Format format, float *const *outputs, int64_t count,
                                                                const void *values, int64_t key_count, const float *weights, int64_t stride) {
  for (int64_t k = 0; k < s->size; k += 16 * WIDE)
    for (int64_t query = 0; query < count; query += SIDE) {
      float *places[SIDE];
      const float *from = weights + query * stride;
      for (int64_t i = 0; i < least(SIDE, count - query); i++) places[i] = outputs[query + i] + k;
      const void *numbers = place_at(format, values, k);
      if (s->size - k >= 16 * WIDE) add_some(count - query, places, format, 16 * WIDE, numbers, s->size, key_count, from, stride);
      else add_some(count - query, places, format, s->size - k, numbers, s->size, key_count, from, stride);
    }
}

/** Adds consecutive values, the first of which is number `place` of all values, with their weights, for some queries. */
static void add_values(const Step *s, float *const *outputs, int64_t count, int64_t place, int64_t key_count, const float *weights, int64_t stride) {
  const void *values = place_at(s->format, s->values, place);
  if (s->format == FLOAT16) add_values_as(s, FLOAT16, outputs, count, values, key_count, weights, stride);
  else add_values_as(s, FLOAT32, outputs, count, values, key_count, weights, stride);
}

/** Replaces scores by weights that sum to 1. */
static void normalize(float *scores, int64_t count) {
  const Vector shift = broadcast(array_max(scores, count));
  Vector sum = broadcast(0);
  for (int64_t i = 0; i < count; i += 16) {
    const Vector weight = masked(tail_mask(count - i), exponential(sub(load_first(count - i, scores + i), shift)));
    store_first(count - i, scores + i, weight);
    sum = add(sum, weight);
  }
  scale_row(scores, count, 1 / hsum(sum));
}

static inline int64_t first_step(int64_t last, int64_t steps) { return last < steps ? 0 : last - steps + 1; }

/** How many keys a row attends to. A slot may have fewer tokens than steps. */
static int64_t keys_of(const Step *s, int64_t row) {
  const int64_t last = s->last[row / s->steps], position = first_step(last, s->steps) + row % s->steps;
  return position <= last ? position + 1 : 0;
}

/** Each of several tokens of one text reads everything that the token before reads. */
static Twin twin_of(const Step *s, int64_t row) {
  const int64_t slot = row / s->steps;
  return s->steps > 1 && s->twins[slot].row == slot ? (Twin){slot, s->room} : s->twins[slot];
}

/** Where the keys or values of a slot and head begin. */
static int64_t place_of(const Step *s, int64_t slot, int64_t head) { return (slot * s->kv_heads + head) * s->room * s->size; }

/** One key-value head of a chunk of rows with the same twin. */
static void step_task(void *data, size_t index) {
  Step *s = data;
  const int64_t chunk = (int64_t)index % s->chunk_count, head = (int64_t)index / s->chunk_count, queries_per_kv = s->heads / s->kv_heads;
  const int64_t *rows = s->order + s->chunks[chunk], count = s->chunks[chunk + 1] - s->chunks[chunk], queries = count * queries_per_kv;
  const Twin twin = twin_of(s, rows[0]);
  // Keys that all rows have in common, and those of the longest row. A row that is its own twin reads its own keys without them.
  int64_t together = count > 1 || rows[0] / s->steps != twin.row ? twin.count : 0, longest = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t keys = keys_of(s, rows[i]);
    if (keys > longest) longest = keys;
    together = least(together, least(keys, (int64_t)s->last[twin.row] + 1));
  }
  const int64_t stride = ceiling(longest, 16) * 16;
  const Scratch scratch = borrow(queries * (stride * sizeof(float) + 2 * sizeof(float *)));
  if (!scratch.memory) {
    s->failed = 1;
    return;
  }
  float *scores = scratch.memory;
  float **output = (float **)(scores + queries * stride);
  const float **query = (const float **)(output + queries);
  for (int64_t i = 0; i < queries; i++) {
    const int64_t place = (rows[i / queries_per_kv] * s->heads + head * queries_per_kv + i % queries_per_kv) * s->size;
    query[i] = s->query + place;
    output[i] = s->output + place;
    memset(output[i], 0, s->size * sizeof(float));
  }
  const int64_t common = place_of(s, twin.row, head);
  score(s, query, queries, common, together, scores, stride);
  for (int64_t i = 0; i < count; i++) {
    const int64_t own = place_of(s, rows[i] / s->steps, head) + together * s->size, keys = keys_of(s, rows[i]);
    float *own_scores = scores + i * queries_per_kv * stride;
    score(s, query + i * queries_per_kv, queries_per_kv, own, keys - together, own_scores + together, stride);
    const int64_t hidden = s->window && s->window < keys ? keys - s->window : 0;
    for (int64_t k = 0; k < queries_per_kv; k++) {
      memset(own_scores + k * stride, 0, hidden * sizeof(float));
      normalize(own_scores + k * stride + hidden, keys - hidden);
    }
  }
  add_values(s, output, queries, common, together, scores, stride);
  for (int64_t i = 0; i < count; i++) {
    const int64_t own = place_of(s, rows[i] / s->steps, head) + together * s->size, keys = keys_of(s, rows[i]);
    add_values(s, output + i * queries_per_kv, queries_per_kv, own, keys - together, scores + i * queries_per_kv * stride + together, stride);
  }
  give_back(scratch);
}

static int share_tokens(Twin a, Twin b) { return a.row == b.row && a.count == b.count; }

/**
 * Puts rows with the same twin side by side, and divides them into chunks with the same number of tokens from it. `starts` has room for a number for each
 * row, and one more.
 */
static void arrange(Step *s, int64_t *starts) {
  memset(starts, 0, (s->rows + 1) * sizeof *starts);
  for (int64_t row = 0; row < s->rows; row++) starts[twin_of(s, row).row + 1]++;
  for (int64_t row = 0; row < s->rows; row++) starts[row + 1] += starts[row];
  for (int64_t row = 0; row < s->rows; row++) s->order[starts[twin_of(s, row).row]++] = row;
  s->chunk_count = 0;
  for (int64_t i = 0; i < s->rows; i++) {
    const int64_t begun = s->chunk_count > 0 ? i - s->chunks[s->chunk_count - 1] : TOGETHER;
    if (begun >= TOGETHER || !share_tokens(twin_of(s, s->order[i]), twin_of(s, s->order[i - 1]))) s->chunks[s->chunk_count++] = i;
  }
  s->chunks[s->chunk_count] = s->rows;
}

/** Attention of each row's token. */
static OrtStatus *compute_step(Step *s, OrtKernelContext *context) {
  int64_t *memory = malloc((3 * s->rows + 2) * sizeof *memory);
  if (!memory) return out_of_memory();
  s->order = memory;
  s->chunks = memory + s->rows;
  arrange(s, s->chunks + s->rows + 1);
  OrtStatus *status = in_parallel(context, step_task, s->chunk_count * s->kv_heads, s);
  free(memory);
  return !status && s->failed ? out_of_memory() : status;
}
