// Log-probabilities of tokens, and entropies of the distributions that they were drawn from, without the logits of all tokens in memory.
//
// The vocabulary is cut into chunks, and these are divided among groups. For each chunk, logits of 32 tokens at a time exist in a core's cache.
// A group keeps the largest logit of each token so far, and sums over its chunks of e^(l − largest), times 1 and times l − largest. Where
// gradients are asked for, the same sums of rows of the weight are kept: log Σ e^l has the gradient Σ p · weight, where p is a token's
// distribution. When a larger logit comes, all sums are scaled down accordingly, as in attention (Milakov and Gimelshein 2018,
// arXiv:1805.02867). At the end the groups' sums are joined, in their order.
#pragma once

#include <math.h>
#include <stdatomic.h>
#include "packing.h"
#include "scratch.h"
#include "threads.h"

enum {
  CHUNK_COLUMNS = 512, // of the vocabulary; their packed weights fit a core's second cache
  GROUPS = 8, // at most, where there are sums of rows
  DIRECTIONS = 2, // gradients at most: of log Σ e^l, and of the entropy
};

/** Of some logits: the largest, Σ e^(l − largest) and Σ (l − largest) · e^(l − largest). */
typedef struct {
  float largest, sum, weighted;
} Statistics;

typedef struct {
  const float *hidden; // [tokens, size]
  Matrix weight; // [vocabulary, size]
  const int64_t *targets;
  int64_t tokens, size, vocabulary;
  float alpha, cap; // of logits: l becomes cap · tanh(l / cap), unless the cap is 0
  Rounding rounding; // of operands of products, except that those of gradients are rounded coarsely if any are
  // Results: of each token the log-probability, the entropy, and gradients of log Σ e^l and of the entropy: [tokens, size].
  float *logprobs, *entropies, *gradients[DIRECTIONS];
  int64_t directions; // gradients that are asked for

  int64_t chunks, together, groups; // chunks, those of a group, and groups
  Packed *strips; // hidden states, packed
  Statistics *statistics; // [groups, tokens]
  float *sums; // [groups, directions, tokens, size]
  atomic_int failed;
} TokenScores;

static int64_t panel_block(const TokenScores *t) { return right_size(t->weight.format, t->rounding); }
static int64_t packed_strip(const TokenScores *t) { return ceiling(t->size, BLOCK) * left_size(t->rounding); }
static int64_t packed_panel(const TokenScores *t) { return ceiling(t->size, BLOCK) * panel_block(t); }

static Rounding gradient_rounding(const TokenScores *t) { return t->rounding == ROUNDED ? ROUNDED_COARSELY : t->rounding; }
static int64_t depth_block(const TokenScores *t) { return right_size(t->weight.format, gradient_rounding(t)); }

/** A group's sums of rows of the weight for a token. */
static float *sums_of(const TokenScores *t, int64_t group, int64_t direction, int64_t token) {
  return t->sums + ((group * t->directions + direction) * t->tokens + token) * t->size;
}

static void pack_hidden_task(void *data, size_t index) {
  const TokenScores *t = data;
  const int64_t row = (int64_t)index * BLOCK;
  Packed *strip = t->strips + (int64_t)index * packed_strip(t);
  pack_rows(t->hidden + row * t->size, t->size, least(BLOCK, t->tokens - row), t->size, t->alpha, left_size(t->rounding), strip);
}

/** Logits of up to 32 tokens: [rows, CHUNK_COLUMNS]. */
static void multiply_chunk(const TokenScores *t, int64_t row, int64_t columns, const Packed *panels, float *logits) {
  const Factors none = {0};
  for (int64_t column = 0; column < columns; column += BLOCK)
    multiply((Factors){t->strips + row / BLOCK * packed_strip(t), panels + column / BLOCK * packed_panel(t), t->size, left_size(t->rounding),
                       panel_block(t)},
             none, (Target){0, logits + column, CHUNK_COLUMNS, least(BLOCK, t->tokens - row), BLOCK});
}

/** into += factor · other */
static void add_scaled(float *into, const float *other, float factor, int64_t count) {
  for (int64_t i = 0; i < count; i += 16)
    store_first(count - i, into + i, fmadd(broadcast(factor), load_first(count - i, other + i), load_first(count - i, into + i)));
}

/** Makes sums those of e^(l − largest) for another `max_or_nan`; `rows` are the sums of rows, one for each direction. */
static void shift_sums(Statistics *s, float largest, float *const *rows, int64_t directions, int64_t size) {
  const float shift = s->largest - largest, factor = expf(shift);
  if (directions > 1) add_scaled(rows[1], rows[0], shift, size);
  for (int64_t k = 0; k < directions; k++) scale_row(rows[k], size, factor);
  *s = (Statistics){largest, factor * s->sum, factor * (s->weighted + shift * s->sum)};
}

/** Replaces numbers l by cap · tanh(l / cap). */
static void cap_row(float *logits, float cap, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) {
    const Vector share = mul(load_first(count - i, logits + i), broadcast(1 / cap));
    store_first(count - i, logits + i, mul(broadcast(cap), hyperbolic_tangent(share)));
  }
}

/**
 * Adds e^(l − largest) of logits, for the largest that the statistics have, to these. Replaces the logits by these times 1 − (l / cap)², the slope of the
 * cap. `weighted` gets (l − largest) · e^(l − largest) times the slope, unless it is null.
 * @param inverse_cap 1 / cap, or 0 without a cap
 */
static void add_weights(Statistics *s, float *logits, float *weighted, float inverse_cap, int64_t count) {
  Vector sum = broadcast(0), weighted_sum = broadcast(0);
  for (int64_t i = 0; i < count; i += 16) {
    const Mask mask = tail_mask(count - i);
    const Vector logit = load_first(count - i, logits + i), share = mul(logit, broadcast(inverse_cap));
    const Vector slope = sub(broadcast(1), mul(share, share)), shifted = masked(mask, sub(logit, broadcast(s->largest)));
    const Vector weight = masked(mask, exponential(shifted)), product = mul(shifted, weight);
    store_first(count - i, logits + i, mul(weight, slope));
    if (weighted) store_first(count - i, weighted + i, mul(product, slope));
    sum = add(sum, weight);
    weighted_sum = add(weighted_sum, product);
  }
  s->sum += hsum(sum);
  s->weighted += hsum(weighted_sum);
}

/** The part of a group's task for a chunk and up to 32 tokens, of which it has the logits. They become weights, of each direction. */
static void add_logits(const TokenScores *t, int64_t group, int64_t chunk, int64_t row, float *const *logits) {
  const int64_t first = chunk * CHUNK_COLUMNS, columns = least(CHUNK_COLUMNS, t->vocabulary - first);
  for (int64_t i = 0; i < least(BLOCK, t->tokens - row); i++) {
    const int64_t token = row + i, target = (int64_t)t->targets[token] - first;
    float *of_token = logits[0] + i * CHUNK_COLUMNS, *weighted = t->directions > 1 ? logits[1] + i * CHUNK_COLUMNS : 0;
    Statistics *s = t->statistics + group * t->tokens + token;
    if (t->cap != 0) cap_row(of_token, t->cap, columns);
    const float largest = array_max(of_token, columns);
    // The logit of the target, until the distribution is known.
    if (target >= 0 && target < columns) t->logprobs[token] = of_token[target];
    if (chunk == group * t->together) *s = (Statistics){largest, 0, 0};
    else if (largest > s->largest) {
      float *rows[DIRECTIONS] = {0};
      for (int64_t k = 0; k < t->directions; k++) rows[k] = sums_of(t, group, k, token);
      shift_sums(s, largest, rows, t->directions, t->size);
    }
    add_weights(s, of_token, weighted, t->cap != 0 ? 1 / t->cap : 0, columns);
  }
}

/** Multiplies weights of up to 32 tokens with rows of the weight, and adds that to sums. */
static void add_weighted_rows(const TokenScores *t, const float *weights, int64_t columns, const Packed *depth, int is_first, int64_t rows,
                              Packed *strip, float *sums) {
  const int64_t blocks = ceiling(columns, BLOCK), left = left_size(gradient_rounding(t)), right = depth_block(t);
  const Factors none = {0};
  pack_rows(weights, CHUNK_COLUMNS, rows, columns, 1, left, strip);
  for (int64_t column = 0; column < t->size; column += BLOCK)
    multiply((Factors){strip, depth + column / BLOCK * blocks * right, columns, left, right}, none,
             (Target){is_first ? 0 : sums + column, sums + column, t->size, rows, least(BLOCK, t->size - column)});
}

/** All chunks of a group. */
static void score_group_task(void *data, size_t index) {
  TokenScores *t = data;
  const int64_t group = (int64_t)index, begin = group * t->together, end = least(t->chunks, begin + t->together);
  const int64_t logits_size = BLOCK * CHUNK_COLUMNS, panels_size = CHUNK_COLUMNS / BLOCK * packed_panel(t);
  const int64_t strip_size = CHUNK_COLUMNS / BLOCK * left_size(gradient_rounding(t));
  const int64_t depth_size = CHUNK_COLUMNS / BLOCK * ceiling(t->size, BLOCK) * depth_block(t);
  const Scratch scratch = borrow(DIRECTIONS * logits_size * sizeof(float) + (strip_size + panels_size + depth_size) * sizeof(Packed));
  if (!scratch.memory) {
    t->failed = 1;
    return;
  }
  float *logits[DIRECTIONS] = {scratch.memory, (float *)scratch.memory + logits_size};
  Packed *strip = (Packed *)(logits[1] + logits_size), *panels = strip + strip_size, *depth = panels + panels_size;
  start_unit();
  for (int64_t chunk = begin; chunk < end; chunk++) {
    const int64_t first = chunk * CHUNK_COLUMNS, columns = least(CHUNK_COLUMNS, t->vocabulary - first);
    pack_as_columns(part_of(t->weight, first, 0), columns, t->size, 1, panel_block(t), panels);
    if (t->directions > 0) pack_as_depth(part_of(t->weight, first, 0), columns, t->size, 1, depth_block(t), depth);
    for (int64_t row = 0; row < t->tokens; row += BLOCK) {
      multiply_chunk(t, row, columns, panels, logits[0]);
      add_logits(t, group, chunk, row, logits);
      for (int64_t k = 0; k < t->directions; k++)
        add_weighted_rows(t, logits[k], columns, depth, chunk == begin, least(BLOCK, t->tokens - row), strip, sums_of(t, group, k, row));
    }
  }
  stop_unit();
  give_back(scratch);
}

/** Joins the sums of all groups for a token, and makes the results of them. */
static void join_groups(const TokenScores *t, int64_t token) {
  Statistics joined = t->statistics[token];
  for (int64_t group = 1; group < t->groups; group++) joined.largest = fmaxf(joined.largest, t->statistics[group * t->tokens + token].largest);
  for (int64_t group = 0; group < t->groups; group++) {
    Statistics s = t->statistics[group * t->tokens + token];
    float *rows[DIRECTIONS] = {0};
    for (int64_t k = 0; k < t->directions; k++) rows[k] = sums_of(t, group, k, token);
    shift_sums(&s, joined.largest, rows, t->directions, t->size);
    if (group == 0) {
      joined = s;
      continue;
    }
    joined.sum += s.sum;
    joined.weighted += s.weighted;
    for (int64_t k = 0; k < t->directions; k++) add_scaled(sums_of(t, 0, k, token), rows[k], 1, t->size);
  }
  const float mean = joined.weighted / joined.sum, total = logf(joined.sum);
  t->logprobs[token] -= joined.largest + total;
  t->entropies[token] = total - mean;
  const float factors[DIRECTIONS] = {t->alpha / joined.sum, mean * t->alpha / joined.sum};
  for (int64_t k = 0; k < t->directions; k++) {
    float *gradient = t->gradients[k] + token * t->size;
    memcpy(gradient, sums_of(t, 0, 0, token), t->size * sizeof *gradient);
    scale_row(gradient, t->size, factors[k]);
    if (k == 1) add_scaled(gradient, sums_of(t, 0, 1, token), -factors[0], t->size); // the entropy is log Σ e^l − Σ p · l
  }
}

static void join_groups_task(void *data, size_t index) {
  const TokenScores *t = data;
  for (int64_t token = (int64_t)index * BLOCK; token < least(t->tokens, ((int64_t)index + 1) * BLOCK); token++) join_groups(t, token);
}

static OrtStatus *compute_token_scores(TokenScores *t, OrtKernelContext *context) {
  const int64_t strips = ceiling(t->tokens, BLOCK);
  t->chunks = ceiling(t->vocabulary, CHUNK_COLUMNS);
  t->together = t->directions > 0 ? ceiling(t->chunks, GROUPS) : 1;
  t->groups = ceiling(t->chunks, t->together);
  const size_t strip_bytes = strips * packed_strip(t) * sizeof(Packed), sums_bytes = t->groups * t->directions * t->tokens * t->size * sizeof(float);
  const Scratch scratch = borrow(strip_bytes + sums_bytes + t->groups * t->tokens * sizeof(Statistics));
  if (!scratch.memory) return out_of_memory();
  t->strips = scratch.memory;
  t->sums = (float *)((char *)scratch.memory + strip_bytes);
  t->statistics = (Statistics *)((char *)t->sums + sums_bytes);
  OrtStatus *status = in_parallel(context, pack_hidden_task, strips, t);
  if (!status) status = in_parallel(context, score_group_task, t->groups, t);
  if (!status && t->failed) status = out_of_memory();
  if (!status) status = in_parallel(context, join_groups_task, strips, t);
  give_back(scratch);
  return status;
}
