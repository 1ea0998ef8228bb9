// The gated delta rule over segments of rows, and its gradients (Yang, Kautz & Hatamizadeh 2024, arXiv:2412.06464).
//
// A head has a state S, a matrix from keys to values. Each row first lets it decay, by e^g, then corrects what it has for the row's key k towards the
// value v, and reads it with the query q:
//
//   P = e^g · S    y = v − Pᵀk    S = P + β · k yᵀ    output = Sᵀq
//
// Rows are computed a chunk at a time, as matrix products. With G, the sum of g from the chunk's first row on, Γᵢⱼ = e^(Gᵢ − Gⱼ) for j ≤ i, and S₀, the
// state before the chunk, rows of a matrix being those of the chunk:
//
//   Y = V − e^G ∘ K S₀ − tril(Γ ∘ K Kᵀ, −1) (β ∘ Y)         solved from the first row to the last
//   output = e^G ∘ Q S₀ + tril(Γ ∘ Q Kᵀ) (β ∘ Y)             S = e^(G of the last row) (S₀ + (e^−G ∘ K)ᵀ (β ∘ Y))
//
// Several value heads share the queries and keys of one head. A task computes one such head and one root: a segment without a prefix and all segments
// that continue it. The backward pass computes states again, and keeps those between chunks.
#pragma once

#include <stdatomic.h>
#include <string.h>
#include "attention.h"
#include "small-product.h"

enum { CHUNK = 64 }; // rows

/** A segment without a prefix, and how much it and all segments that continue it need. */
typedef struct {
  int64_t segment, ends, states, rows;
} Root;

/** Where numbers of a segment are among those of its root. */
typedef struct {
  int64_t root;
  int64_t before; // the segment whose last state it begins with, one that has rows, or −1
  int64_t end; // which of the segments that others continue it is, or −1
  int64_t state, row; // its first state between chunks, and its first row, padded
} Place;

typedef struct {
  const float *query, *key, *value, *decay, *beta; // decay: the logarithm g
  const float *gradient; // of the output
  float *output, *query_gradient, *key_gradient, *value_gradient, *decay_gradient, *beta_gradient;
  int64_t rows, key_heads, value_heads, key_size, value_size;
  const Segment *segments;
  int64_t segment_count;

  Root *roots;
  int64_t root_count;
  Place *places; // of segments
  int64_t keys, values; // sizes of heads, in whole vectors
  atomic_int failed;
} Delta;

/** Some rows of a segment, padded to whole vectors; what is padded has no effect. */
typedef struct {
  int64_t row, count, padded;
} Chunk;

/** What a task computes for a chunk. The last size of a matrix is the length of its rows; `chunk` is the number of padded rows. */
typedef struct {
  float *query, *key; // [chunk, keys]
  float *keys_along; // [keys, chunk]
  float *key_products, *query_products; // of keys with keys, and of queries with keys: [chunk, chunk]
  float *value, *out; // [chunk, values]
  float *corrections, *steps; // Y, and β ∘ Y
  float *among_keys, *among_queries; // −tril(Γ ∘ K Kᵀ, −1), tril(Γ ∘ Q Kᵀ)
  float sums[CHUNK], beta[CHUNK]; // G, β
  float since[CHUNK], until[CHUNK]; // e^G, and e^(G of the last row − G)

  // Of the backward pass.
  float *out_gradient, *value_gradient; // [chunk, values]
  float *scaled; // [chunk, values]
  float *steps_along; // [values, chunk]
  float *pair_gradients; // [chunk, chunk]
  float *state_along; // [values, keys]
  float *query_gradient, *as_reader, *as_writer; // [chunk, keys]: of queries, and of keys where they read a state and where they write it
  float *query_total, *key_total; // over value heads
} ChunkBuffers;

static int64_t group_of(const Delta *d) { return d->value_heads / d->key_heads; }
static int64_t state_size(const Delta *d) { return d->keys * d->values; }

static size_t lay_out_chunk(ChunkBuffers *b, const Delta *d, char *memory) {
  const size_t keys = (size_t)d->keys * CHUNK * sizeof(float), values = (size_t)d->values * CHUNK * sizeof(float),
               square = CHUNK * CHUNK * sizeof(float);
  size_t bytes = 0;
  float **of_keys[] = {&b->query, &b->key, &b->keys_along, &b->query_gradient, &b->as_reader, &b->as_writer, &b->query_total, &b->key_total};
  float **of_values[] = {&b->value, &b->out, &b->corrections, &b->steps, &b->out_gradient, &b->value_gradient, &b->scaled, &b->steps_along};
  float **squares[] = {&b->key_products, &b->query_products, &b->among_keys, &b->among_queries, &b->pair_gradients};
  for (size_t i = 0; i < sizeof of_keys / sizeof *of_keys; i++) *of_keys[i] = cut(&memory, &bytes, keys);
  for (size_t i = 0; i < sizeof of_values / sizeof *of_values; i++) *of_values[i] = cut(&memory, &bytes, values);
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) *squares[i] = cut(&memory, &bytes, square);
  b->state_along = cut(&memory, &bytes, state_size(d) * sizeof(float));
  return bytes;
}

static Chunk chunk_at(const Segment *s, int64_t start) {
  const int64_t count = least(CHUNK, s->count - start);
  return (Chunk){s->row + start, count, ceiling(count, 16) * 16};
}

/** Copies a head of a chunk's rows, padded with zeros. */
static void gather(const float *from, int64_t stride, int64_t size, int64_t padded_size, Chunk c, float *into) {
  for (int64_t i = 0; i < c.padded; i++, into += padded_size)
    for (int64_t k = 0; k < padded_size; k += 16) store(into + k, i < c.count ? load_first(size - k, from + (c.row + i) * stride + k) : broadcast(0));
}

static void scatter(const float *from, int64_t padded_size, int64_t size, int64_t stride, Chunk c, float *into) {
  for (int64_t i = 0; i < c.count; i++)
    for (int64_t k = 0; k < size; k += 16) store_first(size - k, into + (c.row + i) * stride + k, load(from + i * padded_size + k));
}

/** into = kept · into + left · right, of which both are as they are in memory; where `along` is set, the left one is transposed. */
static void times(const float *left, int along, int64_t left_stride, const float *right, int64_t columns, float *into, int64_t rows, int64_t depth,
                  float kept, Zeros zeros) {
  multiply_small(
      (SmallProduct){left, along ? 1 : left_stride, along ? left_stride : 1, right, columns, into, columns, rows, depth, columns, kept, zeros});
}

/** into = each row of a matrix, times a number of its own. */
static void scale_rows(const float *from, const float *factors, int64_t rows, int64_t columns, float *into) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k += 16) store(into + i * columns + k, mul(broadcast(factors[i]), load(from + i * columns + k)));
}

static float dot(const float *a, const float *b, int64_t size) {
  Vector sum = broadcast(0);
  for (int64_t k = 0; k < size; k += 16) sum = fmadd(load(a + k), load(b + k), sum);
  return hsum(sum);
}

/** What value heads share: queries, keys, and their products. */
static void read_chunk(const Delta *d, int64_t key_head, Chunk c, ChunkBuffers *b) {
  const int64_t stride = d->key_heads * d->key_size, place = key_head * d->key_size;
  gather(d->query + place, stride, d->key_size, d->keys, c, b->query);
  gather(d->key + place, stride, d->key_size, d->keys, c, b->key);
  transpose_small(b->key, d->keys, c.padded, d->keys, b->keys_along, c.padded);
  times(b->key, 0, d->keys, b->keys_along, c.padded, b->key_products, c.padded, d->keys, 0, ABOVE_RESULT);
  times(b->query, 0, d->keys, b->keys_along, c.padded, b->query_products, c.padded, d->keys, 0, ABOVE_RESULT);
}

/** The decays of a value head, and products of keys and queries with them. */
static void read_head(const Delta *d, int64_t head, Chunk c, ChunkBuffers *b) {
  float sum = 0;
  for (int64_t i = 0; i < c.padded; i++) {
    const int64_t place = (c.row + i) * d->value_heads + head;
    if (i < c.count) sum += d->decay[place];
    b->sums[i] = sum;
    b->beta[i] = i < c.count ? d->beta[place] : 0;
  }
  for (int64_t i = 0; i < c.padded; i += 16) {
    store(b->since + i, exponential(load(b->sums + i)));
    store(b->until + i, exponential(sub(broadcast(sum), load(b->sums + i))));
  }
  for (int64_t i = 0; i < c.padded; i++)
    for (int64_t j = 0; j < c.padded; j += 16) {
      const int64_t place = i * c.padded + j;
      const Vector decay = exponential(sub(broadcast(b->sums[i]), load(b->sums + j)));
      store(b->among_keys + place, masked(tail_mask(i - j), negate(mul(decay, load(b->key_products + place)))));
      store(b->among_queries + place, masked(tail_mask(i - j + 1), mul(decay, load(b->query_products + place))));
    }
}

/** Solves for Y, from the first row to the last, where corrections hold V − e^G ∘ K S₀. */
static void correct(const Delta *d, Chunk c, const ChunkBuffers *b) {
  const int64_t width = d->values;
  for (int64_t row = 0; row < c.padded; row += TILE_ROWS) {
    float *corrections = b->corrections + row * width, *steps = b->steps + row * width;
    const float *factors = b->among_keys + row * c.padded;
    times(factors, 0, c.padded, b->steps, width, corrections, TILE_ROWS, row, 1, NOTHING);
    for (int64_t k = 0; k < width; k += 16) {
      Vector known[TILE_ROWS];
      UNROLLED
      for (int i = 0; i < TILE_ROWS; i++) {
        Vector y = load(corrections + i * width + k);
        for (int j = 0; j < i; j++) y = fmadd(broadcast(factors[i * c.padded + row + j]), known[j], y);
        known[i] = mul(broadcast(b->beta[row + i]), y);
        store(corrections + i * width + k, y);
        store(steps + i * width + k, known[i]);
      }
    }
  }
}

/** Moves a state past a chunk. `state` may hold none yet. */
static void advance(const Delta *d, Chunk c, const ChunkBuffers *b, int is_empty, float *state) {
  scale_rows(b->steps, b->until, c.padded, d->values, b->scaled);
  times(b->keys_along, 0, c.padded, b->scaled, d->values, state, d->keys, c.padded, is_empty ? 0 : b->since[c.padded - 1], NOTHING);
}

/** The corrections of a chunk and a value head, and its output if there is one. `state` is null before the first row. */
static void compute_chunk(const Delta *d, int64_t head, Chunk c, const float *state, ChunkBuffers *b) {
  const int64_t width = d->values, numbers = c.padded * width;
  gather(d->value + head * d->value_size, d->value_heads * d->value_size, d->value_size, width, c, b->corrections);
  if (state) {
    times(b->key, 0, d->keys, state, width, b->scaled, c.padded, d->keys, 0, NOTHING);
    for (int64_t i = 0; i < c.padded; i++)
      for (int64_t k = i * width; k < (i + 1) * width; k += 16)
        store(b->corrections + k, fnmadd(broadcast(b->since[i]), load(b->scaled + k), load(b->corrections + k)));
  }
  correct(d, c, b);
  if (!d->output) return;
  if (state) {
    times(b->query, 0, d->keys, state, width, b->scaled, c.padded, d->keys, 0, NOTHING);
    scale_rows(b->scaled, b->since, c.padded, width, b->out);
  } else memset(b->out, 0, numbers * sizeof *b->out);
  times(b->among_queries, 0, c.padded, b->steps, width, b->out, c.padded, c.padded, 1, ABOVE_LEFT);
  scatter(b->out, width, d->value_size, d->value_heads * d->value_size, c, d->output + head * d->value_size);
}

/** A state of a value head of a group, among so many of all of them. */
static float *state_at(const Delta *d, float *states, int64_t place, int64_t head) { return states + (place * group_of(d) + head) * state_size(d); }

static void delta_task(void *data, size_t index) {
  Delta *d = data;
  const Root *root = d->roots + (int64_t)index / d->key_heads;
  const int64_t key_head = (int64_t)index % d->key_heads, group = group_of(d), size = state_size(d);
  ChunkBuffers b;
  const size_t bytes = lay_out_chunk(&b, d, 0);
  const Scratch scratch = borrow(bytes + (root->ends + 1) * group * size * sizeof(float));
  if (!scratch.memory) {
    d->failed = 1;
    return;
  }
  lay_out_chunk(&b, d, scratch.memory);
  float *states = (float *)((char *)scratch.memory + bytes); // those that segments end with, and one for the rest
  for (int64_t segment = root->segment; segment < d->segment_count; segment++) {
    const Segment *s = d->segments + segment;
    const Place *place = d->places + segment;
    if (place->root != root->segment || s->count == 0) continue;
    for (int64_t start = 0; start < s->count; start += CHUNK) {
      const Chunk c = chunk_at(s, start);
      read_chunk(d, key_head, c, &b);
      for (int64_t head = 0; head < group; head++) {
        const int is_first = start == 0 && place->before < 0;
        float *state = state_at(d, states, place->end < 0 ? root->ends : place->end, head);
        if (start == 0 && place->before >= 0) memcpy(state, state_at(d, states, d->places[place->before].end, head), size * sizeof *state);
        read_head(d, key_head * group + head, c, &b);
        compute_chunk(d, key_head * group + head, c, is_first ? 0 : state, &b);
        if (place->end >= 0 || start + CHUNK < s->count) advance(d, c, &b, is_first, state);
      }
    }
  }
  give_back(scratch);
}

/** The state before a chunk, or null, among those that are kept after chunks. */
static float *state_before(const Delta *d, float *states, int64_t segment, int64_t start, int64_t head) {
  const Place *place = d->places + segment;
  if (start > 0) return state_at(d, states, place->state + start / CHUNK - 1, head);
  if (place->before < 0) return 0;
  const int64_t last = ceiling(d->segments[place->before].count, CHUNK) - 1;
  return state_at(d, states, d->places[place->before].state + last, head);
}

/** Solves for the gradients of values, β times those of V − e^G ∘ K S₀, from the last row to the first. `scaled` holds those of β ∘ Y. */
static void correct_backward(const Delta *d, Chunk c, const ChunkBuffers *b) {
  const int64_t width = d->values;
  for (int64_t row = c.padded - TILE_ROWS; row >= 0; row -= TILE_ROWS) {
    const int64_t after = row + TILE_ROWS;
    float *gradients = b->scaled + row * width, *values = b->value_gradient + row * width;
    times(b->among_keys + after * c.padded + row, 1, c.padded, b->value_gradient + after * width, width, gradients, TILE_ROWS, c.padded - after, 1,
          NOTHING);
    for (int64_t k = 0; k < width; k += 16) {
      Vector known[TILE_ROWS];
      UNROLLED
      for (int j = TILE_ROWS - 1; j >= 0; j--) {
        Vector gradient = load(gradients + j * width + k);
        for (int i = j + 1; i < TILE_ROWS; i++) gradient = fmadd(broadcast(b->among_keys[(row + i) * c.padded + row + j]), known[i], gradient);
        known[j] = mul(broadcast(b->beta[row + j]), gradient);
        store(gradients + j * width + k, gradient);
        store(values + j * width + k, known[j]);
      }
    }
  }
}

/** Gradients of Γ ∘ products of pairs of rows, of which those where `from` reads what a row wrote are below the diagonal, become those of the products. */
static void decay_pairs(Chunk c, const ChunkBuffers *b, int64_t diagonal, float sign) {
  for (int64_t i = 0; i < c.padded; i++)
    for (int64_t j = 0; j < c.padded; j += 16) {
      float *place = b->pair_gradients + i * c.padded + j;
      const Vector decay = exponential(sub(broadcast(b->sums[i]), load(b->sums + j)));
      store(place, masked(tail_mask(i - j + diagonal), mul(mul(broadcast(sign), decay), load(place))));
    }
}

/**
 * The gradients of a chunk and a value head.
 * @param state before the chunk, or null
 * @param state_gradient that of the state after the chunk, which becomes that of the state before it
 * @param ends whether no row after the chunk reads its state, so that this gradient is 0 and need not be there
 */
static void differentiate_chunk(const Delta *d, int64_t head, Chunk c, const float *state, float *state_gradient, int ends, ChunkBuffers *b) {
  const int64_t width = d->values, keys = d->keys, rows = c.padded, stride = d->value_heads * d->value_size, place = head * d->value_size;
  const float decay = b->since[rows - 1];
  float last = 0; // the gradient of G of the last row, as the state after the chunk depends on it
  gather(d->gradient + place, stride, d->value_size, width, c, b->out_gradient);
  scale_rows(b->corrections, b->beta, rows, width, b->steps);

  // Of β ∘ Y, and through it of values.
  if (ends) memset(b->scaled, 0, rows * width * sizeof *b->scaled);
  else {
    times(b->key, 0, keys, state_gradient, width, b->scaled, rows, keys, 0, NOTHING);
    scale_rows(b->scaled, b->until, rows, width, b->scaled);
  }
  times(b->among_queries, 1, rows, b->out_gradient, width, b->scaled, rows, rows, 1, BELOW_LEFT);
  correct_backward(d, c, b);
  scatter(b->value_gradient, width, d->value_size, stride, c, d->value_gradient + place);
  for (int64_t i = 0; i < c.count; i++)
    d->beta_gradient[(c.row + i) * d->value_heads + head] = dot(b->scaled + i * width, b->corrections + i * width, width);

  // Of queries and keys, as they write the state after the chunk, and as they read what rows before them in the chunk wrote.
  if (ends) memset(b->as_writer, 0, rows * keys * sizeof *b->as_writer);
  else {
    transpose_small(state_gradient, width, keys, width, b->state_along, keys);
    scale_rows(b->steps, b->until, rows, width, b->out);
    times(b->out, 0, width, b->state_along, keys, b->as_writer, rows, width, 0, NOTHING);
    for (int64_t i = 0; i < rows; i++) last += dot(b->key + i * keys, b->as_writer + i * keys, keys);
    if (state) last += decay * dot(state, state_gradient, keys * width);
  }
  transpose_small(b->steps, width, rows, width, b->steps_along, rows);
  times(b->out_gradient, 0, width, b->steps_along, rows, b->pair_gradients, rows, width, 0, ABOVE_RESULT);
  decay_pairs(c, b, 1, 1);
  times(b->pair_gradients, 0, rows, b->key, keys, b->query_gradient, rows, rows, 0, ABOVE_LEFT);
  times(b->pair_gradients, 1, rows, b->query, keys, b->as_writer, rows, rows, 1, BELOW_LEFT);
  times(b->value_gradient, 0, width, b->steps_along, rows, b->pair_gradients, rows, width, 0, ABOVE_RESULT);
  decay_pairs(c, b, 0, -1);
  times(b->pair_gradients, 0, rows, b->key, keys, b->as_reader, rows, rows, 0, ABOVE_LEFT);
  times(b->pair_gradients, 1, rows, b->key, keys, b->as_writer, rows, rows, 1, BELOW_LEFT);

  // As they read the state before the chunk, whose gradient this is, too.
  if (state) {
    transpose_small(state, width, keys, width, b->state_along, keys);
    scale_rows(b->out_gradient, b->since, rows, width, b->out);
    times(b->out, 0, width, b->state_along, keys, b->query_gradient, rows, width, 1, NOTHING);
    times(b->query, 1, keys, b->out, width, state_gradient, keys, rows, ends ? 0 : decay, NOTHING);
    float negative[CHUNK];
    for (int64_t i = 0; i < rows; i++) negative[i] = -b->since[i];
    scale_rows(b->value_gradient, negative, rows, width, b->out);
    times(b->out, 0, width, b->state_along, keys, b->as_reader, rows, width, 1, NOTHING);
    times(b->key, 1, keys, b->out, width, state_gradient, keys, rows, 1, NOTHING);
  }

  // What reads is multiplied by e^G, what writes by e^−G, and each decay is part of G from its row on.
  float sum = last;
  for (int64_t i = c.count - 1; i >= 0; i--) {
    const int64_t at = i * keys;
    sum += dot(b->query + at, b->query_gradient + at, keys) + dot(b->key + at, b->as_reader + at, keys) - dot(b->key + at, b->as_writer + at, keys);
    d->decay_gradient[(c.row + i) * d->value_heads + head] = sum;
  }
  for (int64_t k = 0; k < rows * keys; k += 16) {
    store(b->query_total + k, add(load(b->query_total + k), load(b->query_gradient + k)));
    store(b->key_total + k, add(load(b->key_total + k), add(load(b->as_reader + k), load(b->as_writer + k))));
  }
}

/** Computes corrections and states, from the first chunk to the last. */
static void recompute(const Delta *d, const Root *root, int64_t key_head, float *corrections, float *states, ChunkBuffers *b) {
  const int64_t group = group_of(d), size = state_size(d);
  for (int64_t segment = root->segment; segment < d->segment_count; segment++) {
    const Segment *s = d->segments + segment;
    const Place *place = d->places + segment;
    if (place->root != root->segment) continue;
    for (int64_t start = 0; start < s->count; start += CHUNK) {
      const Chunk c = chunk_at(s, start);
      read_chunk(d, key_head, c, b);
      for (int64_t head = 0; head < group; head++) {
        const float *before = state_before(d, states, segment, start, head);
        read_head(d, key_head * group + head, c, b);
        compute_chunk(d, key_head * group + head, c, before, b);
        memcpy(corrections + ((place->row + start) * group + head * c.padded) * d->values, b->corrections, c.padded * d->values * sizeof(float));
        if (place->end < 0 && start + CHUNK >= s->count) continue;
        float *after = state_at(d, states, place->state + start / CHUNK, head);
        if (before) memcpy(after, before, size * sizeof *after);
        advance(d, c, b, !before, after);
      }
    }
  }
}

static void delta_gradient_task(void *data, size_t index) {
  Delta *d = data;
  const Root *root = d->roots + (int64_t)index / d->key_heads;
  const int64_t key_head = (int64_t)index % d->key_heads, group = group_of(d), size = state_size(d);
  ChunkBuffers b;
  const size_t bytes = lay_out_chunk(&b, d, 0);
  const Scratch scratch = borrow(bytes + ((root->states + root->ends + 1) * size + root->rows * d->values) * group * sizeof(float));
  if (!scratch.memory) {
    d->failed = 1;
    return;
  }
  lay_out_chunk(&b, d, scratch.memory);
  float *states = (float *)((char *)scratch.memory + bytes), *corrections = states + root->states * group * size;
  float *gradients = corrections + root->rows * group * d->values; // of the states that segments end with, and one for the rest
  recompute(d, root, key_head, corrections, states, &b);
  memset(gradients, 0, root->ends * group * size * sizeof *gradients);
  for (int64_t segment = d->segment_count - 1; segment >= root->segment; segment--) {
    const Segment *s = d->segments + segment;
    const Place *place = d->places + segment;
    if (place->root != root->segment || s->count == 0) continue;
    for (int64_t start = (s->count - 1) / CHUNK * CHUNK; start >= 0; start -= CHUNK) {
      const Chunk c = chunk_at(s, start);
      read_chunk(d, key_head, c, &b);
      memset(b.query_total, 0, c.padded * d->keys * sizeof(float));
      memset(b.key_total, 0, c.padded * d->keys * sizeof(float));
      for (int64_t head = 0; head < group; head++) {
        float *gradient = state_at(d, gradients, place->end < 0 ? root->ends : place->end, head);
        read_head(d, key_head * group + head, c, &b);
        memcpy(b.corrections, corrections + ((place->row + start) * group + head * c.padded) * d->values, c.padded * d->values * sizeof(float));
        const int ends = place->end < 0 && start + CHUNK >= s->count;
        differentiate_chunk(d, key_head * group + head, c, state_before(d, states, segment, start, head), gradient, ends, &b);
        if (start > 0 || place->before < 0) continue;
        float *into = state_at(d, gradients, d->places[place->before].end, head);
        for (int64_t k = 0; k < size; k += 16) store(into + k, add(load(into + k), load(gradient + k)));
      }
      const int64_t stride = d->key_heads * d->key_size, at = key_head * d->key_size;
      scatter(b.query_total, d->keys, d->key_size, stride, c, d->query_gradient + at);
      scatter(b.key_total, d->keys, d->key_size, stride, c, d->key_gradient + at);
    }
  }
  give_back(scratch);
}

/** Whether segments lie within the rows, and each comes after its prefix. */
static int chain_fits(const Delta *d) {
  for (int64_t i = 0; i < d->segment_count; i++) {
    const Segment *s = d->segments + i;
    if (s->row < 0 || s->count < 0 || s->row > d->rows || s->count > d->rows - s->row || s->prefix >= i) return 0;
  }
  return 1;
}

/** Finds the roots of segments, and what these have to keep. */
static void find_roots(Delta *d) {
  for (int64_t i = 0; i < d->segment_count; i++) {
    const Segment *s = d->segments + i;
    Place *place = d->places + i;
    *place = (Place){i, -1, -1, 0, 0};
    if (s->prefix < 0) {
      d->roots[d->root_count++] = (Root){i, 0, 0, 0};
      continue;
    }
    const Place *prefix = d->places + s->prefix;
    place->root = prefix->root;
    place->before = d->segments[s->prefix].count > 0 ? (int64_t)s->prefix : prefix->before;
    if (place->before >= 0 && s->count > 0) d->places[place->before].end = 0;
  }
  for (Root *root = d->roots; root < d->roots + d->root_count; root++)
    for (int64_t i = root->segment; i < d->segment_count; i++) {
      Place *place = d->places + i;
      if (place->root != root->segment) continue;
      const int64_t chunks = ceiling(d->segments[i].count, CHUNK);
      place->state = root->states;
      place->row = root->rows;
      if (place->end >= 0) place->end = root->ends++, root->states++;
      if (chunks > 0) root->states += chunks - 1;
      root->rows += ceiling(d->segments[i].count, 16) * 16;
    }
}

/** Computes the output, or, where there is none, the gradients. */
static OrtStatus *compute_delta(Delta *d, OrtKernelContext *context) {
  float *results[] = {d->output, d->query_gradient, d->key_gradient, d->value_gradient, d->decay_gradient, d->beta_gradient};
  const int64_t keys = d->key_heads * d->key_size, values = d->value_heads * d->value_size;
  const int64_t widths[] = {values, keys, keys, values, d->value_heads, d->value_heads};
  int64_t covered_rows = 0;
  for (int64_t i = 0; i < d->segment_count; i++) covered_rows += d->segments[i].count;
  for (int i = 0; covered_rows < d->rows && i < 6; i++)
    if (results[i]) memset(results[i], 0, d->rows * widths[i] * sizeof(float));
  if (covered_rows == 0) return 0;
  d->keys = ceiling(d->key_size, 16) * 16;
  d->values = ceiling(d->value_size, 16) * 16;
  d->roots = malloc(d->segment_count * sizeof *d->roots);
  d->places = malloc(d->segment_count * sizeof *d->places);
  OrtStatus *status = d->roots && d->places ? 0 : out_of_memory();
  if (!status) {
    find_roots(d);
    status = in_parallel(context, d->output ? delta_task : delta_gradient_task, d->root_count * d->key_heads, d);
  }
  if (!status && d->failed) status = out_of_memory();
  free(d->roots);
  free(d->places);
  return status;
}
