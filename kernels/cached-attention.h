// CachedAttention, the operator that ONNX Runtime calls for attention over a cache: of one token of each row (decoding.h), or of several
// (attention.h, or where results must not depend on how many are read at once, decoding.h as well). It rotates queries and keys, and appends keys and values to the cache, which is
// in float32 or float16, or reads what another layer has appended.
#pragma once

#include "decoding.h"
#include "segment-attention.h"

typedef struct {
  const float *query, *key, *value, *cos, *sin;
  const int64_t *last;
  const Twin *twins;
  float *output, *rotated; // and rotated queries
  void *keys, *values; // the caches
  Format format; // of the caches, FLOAT32 or FLOAT16
  int64_t rows, steps, heads, kv_heads, size, room, positions, window;
  int batch_invariant, appends;
} Cached;

/** The position of the first token that a row reads. A row with fewer tokens than steps begins at 0. */
static int64_t first_position(const Cached *c, int64_t row) { return first_step(c->last[row], c->steps); }

static void rotate(const Cached *c, int64_t position, const float *from, float *into) {
  const int64_t half = c->size / 2;
  for (int64_t k = 0; k < half; k += 16) {
    const int64_t count = half - k;
    const Vector cos = load_first(count, c->cos + position * half + k), sin = load_first(count, c->sin + position * half + k);
    const Vector first = load_first(count, from + k), second = load_first(count, from + half + k);
    store_first(count, into + k, fmsub(first, cos, mul(second, sin)));
    store_first(count, into + half + k, fmadd(second, cos, mul(first, sin)));
  }
}

/** Writes the numbers of a head into a cache. */
static void append(const Cached *c, const float *numbers, void *cache, int64_t place) {
  if (c->format == FLOAT32) memcpy((float *)cache + place, numbers, c->size * sizeof *numbers);
  else
    for (int64_t k = 0; k < c->size; k += 16) store_halves((uint16_t *)cache + place + k, load(numbers + k));
}

/** Rotates a row's tokens, and appends their keys and values to its cache, unless that has them. */
static void append_task(void *data, size_t index) {
  const Cached *c = data;
  const int64_t row = (int64_t)index, first = first_position(c, row);
  float key[c->size];
  for (int64_t step = 0; step < c->steps && first + step <= c->last[row]; step++) {
    const int64_t token = row * c->steps + step, position = first + step;
    for (int64_t head = 0; head < c->heads; head++) {
      const int64_t place = (token * c->heads + head) * c->size;
      rotate(c, position, c->query + place, c->rotated + place);
    }
    for (int64_t head = 0; c->appends && head < c->kv_heads; head++) {
      const int64_t from = (token * c->kv_heads + head) * c->size, into = ((row * c->kv_heads + head) * c->room + position) * c->size;
      rotate(c, position, c->key + from, key);
      append(c, key, c->keys, into);
      append(c, c->value + from, c->values, into);
    }
  }
}

/** Attention of several tokens of each row. */
static OrtStatus *read_texts(const Cached *c, float scale, OrtKernelContext *context) {
  memset(c->output, 0, c->rows * c->steps * c->heads * c->size * sizeof(float)); // where rows have fewer tokens
  OrtStatus *status = 0;
  for (int64_t row = 0; row < c->rows && !status; row++) {
    const int64_t first = first_position(c, row), width = c->heads * c->size, slot = row * c->kv_heads * c->room * c->size;
    const Segment whole = {0, c->last[row] + 1, -1};
    const Matrix keys = {c->keys, c->size, c->format, 0}, values = {c->values, c->size, c->format, 0};
    // Its queries are those of the last tokens, and begin where that of the first one would be.
    Attention a = {.query = c->rotated + (row * c->steps - first) * width,
                   .output = c->output + (row * c->steps - first) * width,
                   .key = part_of(keys, 0, slot),
                   .value = part_of(values, 0, slot),
                   .head_stride = c->room * c->size,
                   .rows = whole.count,
                   .heads = c->heads,
                   .kv_heads = c->kv_heads,
                   .size = c->size,
                   .scale = scale,
                   .segments = &whole,
                   .segment_count = 1,
                   .first_query = first,
                   .window = c->window};
    status = compute_attention(&a, context);
  }
  return status;
}

static OrtStatus *compute_cached(Cached *c, float scale, OrtKernelContext *context) {
  const Scratch rotated = borrow(c->rows * c->steps * c->heads * c->size * sizeof(float));
  if (!rotated.memory) return out_of_memory();
  c->rotated = rotated.memory;
  OrtStatus *status = 0;
  // Passing a few short tasks to other threads would take longer than doing them.
  enum { MANY = 16 };
  if (c->rows * c->steps >= MANY) status = in_parallel(context, append_task, c->rows, c);
  else
    for (int64_t row = 0; row < c->rows; row++) append_task(c, (size_t)row);
  if (!status && c->steps > 1 && !c->batch_invariant) status = read_texts(c, scale, context);
  else if (!status) {
    Step step = {.query = c->rotated,
                 .keys = c->keys,
                 .values = c->values,
                 .format = c->format,
                 .output = c->output,
                 .last = c->last,
                 .twins = c->twins,
                 .rows = c->rows * c->steps,
                 .steps = c->steps,
                 .heads = c->heads,
                 .kv_heads = c->kv_heads,
                 .size = c->size,
                 .room = c->room,
                 .window = c->window,
                 .scale = scale};
    status = compute_step(&step, context);
  }
  give_back(rotated);
  return status;
}

/** Whether positions lie within the cache and the tables, and twins are rows. */
static int positions_fit(const Cached *c) {
  for (int64_t row = 0; row < c->rows; row++) {
    if (c->last[row] < 0 || c->last[row] >= c->room || c->last[row] >= c->positions) return 0;
    if (c->twins[row].row < 0 || c->twins[row].row >= c->rows || c->twins[row].count < 0) return 0;
  }
  return 1;
}

static OrtStatus *run_with_caches(const AttentionNode *node, Format format, OrtKernelContext *context) {
  Cached c = {.heads = node->heads,
              .kv_heads = node->kv_heads,
              .window = (int64_t)node->window,
              .format = format,
              .batch_invariant = (int)node->batch_invariant,
              .appends = (int)node->appends};
  const void *key_cache, *value_cache;
  int64_t query[2], key[2], value[2], keys[4], values[4], last[1], cos[2], sin[2], twins[2];
  OrtStatus *status = read_input(context, 0, &c.query, query, 2);
  if (!status) status = read_input(context, 1, &c.key, key, 2);
  if (!status) status = read_input(context, 2, &c.value, value, 2);
  if (!status) status = read_input(context, 3, &key_cache, keys, 4);
  if (!status) status = read_input(context, 4, &value_cache, values, 4);
  if (!status) status = read_input(context, 5, &c.last, last, 1);
  if (!status) status = read_input(context, 6, &c.cos, cos, 2);
  if (!status) status = read_input(context, 7, &c.sin, sin, 2);
  if (!status) status = read_input(context, 8, &c.twins, twins, 2);
  if (status) return status;
  c.rows = last[0];
  c.steps = c.rows > 0 ? query[0] / c.rows : 0;
  c.room = keys[2];
  c.size = keys[3];
  c.positions = cos[0];
  const int64_t wide[2] = {c.rows * c.steps, c.heads * c.size}, narrow[2] = {c.rows * c.steps, c.kv_heads * c.size};
  const int64_t cache[4] = {c.rows, c.kv_heads, c.room, c.size}, tables[2] = {c.positions, c.size / 2};
  const int fit = !memcmp(query, wide, sizeof wide) && !memcmp(key, narrow, sizeof narrow) && !memcmp(value, narrow, sizeof narrow) &&
                  !memcmp(keys, cache, sizeof cache) && !memcmp(values, cache, sizeof cache) && !memcmp(cos, tables, sizeof tables) &&
                  !memcmp(sin, tables, sizeof tables) && twins[0] == c.rows && twins[1] == 2 && (format == FLOAT32 || c.size % STORED_BLOCK == 0);
  if (!fit || !positions_fit(&c)) return invalid_argument("CachedAttention: the sizes of the operands do not fit");
  status = make_output(context, 0, wide, 2, &c.output);
  if (!c.appends) {
    // Nothing is written into caches of another layer.
    c.keys = (void *)key_cache;
    c.values = (void *)value_cache;
    return status || c.rows == 0 || c.steps == 0 ? status : compute_cached(&c, node->scale, context);
  }
  if (!status) status = make_output(context, 1, cache, 4, (float **)&c.keys);
  if (!status) status = make_output(context, 2, cache, 4, (float **)&c.values);
  if (status || c.rows == 0 || c.steps == 0) return status;
  // If the caller has bound inputs and outputs to the same memory, caches are updated in place.
  const size_t bytes = c.rows * c.kv_heads * c.room * c.size * number_bytes(format);
  if (c.keys != key_cache) memcpy(c.keys, key_cache, bytes);
  if (c.values != value_cache) memcpy(c.values, value_cache, bytes);
  return compute_cached(&c, node->scale, context);
}

static OrtStatus *run_cached_attention(void *node, OrtKernelContext *context) { return run_with_caches(node, FLOAT32, context); }
static OrtStatus *run_cached_attention_in_halves(void *node, OrtKernelContext *context) { return run_with_caches(node, FLOAT16, context); }

#define CACHED_ATTENTION_FIELDS \
  COMMON_FIELDS, .all_inputs = 9, .all_outputs = 3, .optional_outputs = 2, .create = create_attention, .destroy = free, \
      .integers = 1 << 5 | 1 << 8 // last positions and twins

static const Operator cached_attention = {CACHED_ATTENTION_FIELDS, .called = "CachedAttention", .compute = run_cached_attention};

/** With caches in float16, and heads made of whole blocks. */
static const Operator cached_attention_in_halves = {
    CACHED_ATTENTION_FIELDS,         .called = "CachedAttentionInHalves",       .halves = 1 << 3 | 1 << 4,
    .half_outputs = 1 << 1 | 1 << 2, .compute = run_cached_attention_in_halves,
};
