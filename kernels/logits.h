// Log-probabilities of tokens, and entropies of the distributions that they were drawn from, without the logits of all tokens in memory.
//
// The vocabulary is cut into chunks. For each chunk, logits of 32 tokens at a time exist in a core's cache: the forward pass keeps their largest
// and two sums of each token, from which the results follow once all chunks are done. The backward pass computes logits again, and multiplies
// their gradients with the same chunk of the weight. Gradients are summed for groups of chunks, and then over groups, in their order.
#pragma once

#include <math.h>
#include <stdatomic.h>
#include "packing.h"
#include "scratch.h"
#include "threads.h"

enum {
  CHUNK_COLUMNS = 512, // of the vocabulary; their packed weights fit a core's second cache
  GROUPS = 8,
  SCORES = 3, // of each token: log-probability, entropy, and log Σ exp of the logits
};

/** Of some logits: the largest, Σ e^(l − largest) and Σ l · e^(l − largest). */
typedef struct { float largest, sum, weighted; } Statistics;

typedef struct {
  const float *hidden; // [tokens, size]
  Matrix weight;       // [vocabulary, size]
  const int64_t *targets;
  long tokens, size, vocabulary;
  float alpha; // of logits
  int rounded; // whether operands of products are rounded to bfloat16
  float *scores; // [tokens, SCORES]
  // The backward pass: what the forward pass computed, its gradients, and the result [tokens, size].
  const float *known, *gradients;
  float *hidden_gradient;

  long chunks, groups;
  Packed *strips;         // hidden states, packed
  Statistics *statistics; // [chunks, tokens]
  float *sums;            // [groups, tokens, size]
  atomic_int failed;
} TokenScores;

static long panel_block(const TokenScores *t) { return right_size(t->weight.format, t->rounded); }
static long packed_strip(const TokenScores *t) { return ceiling(t->size, BLOCK) * left_size(t->rounded); }
static long packed_panel(const TokenScores *t) { return ceiling(t->size, BLOCK) * panel_block(t); }

static void pack_hidden_task(void *data, size_t index) {
  const TokenScores *t = data;
  const long row = (long)index * BLOCK;
  Packed *strip = t->strips + (long)index * packed_strip(t);
  pack_rows(t->hidden + row * t->size, t->size, least(BLOCK, t->tokens - row), t->size, t->alpha, left_size(t->rounded), strip);
}

/** Logits of up to 32 tokens: [rows, CHUNK_COLUMNS]. */
static void multiply_chunk(const TokenScores *t, long row, long columns, const Packed *panels, float *logits) {
  const Factors none = {0};
  for (long column = 0; column < columns; column += BLOCK)
    multiply((Factors){t->strips + row / BLOCK * packed_strip(t), panels + column / BLOCK * packed_panel(t), ceiling(t->size, BLOCK),
                       left_size(t->rounded), panel_block(t)},
             none, (Target){0, logits + column, CHUNK_COLUMNS, least(BLOCK, t->tokens - row), BLOCK});
}

static Statistics statistics_of(const float *logits, long count) {
  const float largest = largest_of(logits, count);
  __m512 sum = _mm512_setzero_ps(), weighted = _mm512_setzero_ps();
  for (long i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 logit = _mm512_maskz_loadu_ps(mask, logits + i);
    const __m512 weight = _mm512_maskz_mov_ps(mask, exponential(_mm512_sub_ps(logit, _mm512_set1_ps(largest))));
    sum = _mm512_add_ps(sum, weight);
    weighted = _mm512_fmadd_ps(weight, logit, weighted);
  }
  return (Statistics){largest, _mm512_reduce_add_ps(sum), _mm512_reduce_add_ps(weighted)};
}

/** The forward pass for a chunk: leaves the logits of targets in place of their log-probabilities. */
static void score_chunk_task(void *data, size_t index) {
  TokenScores *t = data;
  const long first = (long)index * CHUNK_COLUMNS, columns = least(CHUNK_COLUMNS, t->vocabulary - first);
  const size_t logits_bytes = BLOCK * CHUNK_COLUMNS * sizeof(float);
  const Scratch scratch = borrow(logits_bytes + CHUNK_COLUMNS / BLOCK * packed_panel(t) * sizeof(Packed));
  if (!scratch.memory) {
    t->failed = 1;
    return;
  }
  float *logits = scratch.memory;
  Packed *panels = (Packed *)((char *)scratch.memory + logits_bytes);
  start_unit();
  pack_as_columns(part_of(t->weight, first, 0), columns, t->size, 1, panel_block(t), panels);
  for (long row = 0; row < t->tokens; row += BLOCK) {
    multiply_chunk(t, row, columns, panels, logits);
    for (long i = 0; i < least(BLOCK, t->tokens - row); i++) {
      const long token = row + i, target = (long)t->targets[token] - first;
      t->statistics[(long)index * t->tokens + token] = statistics_of(logits + i * CHUNK_COLUMNS, columns);
      if (target >= 0 && target < columns) t->scores[token * SCORES] = logits[i * CHUNK_COLUMNS + target];
    }
  }
  stop_unit();
  give_back(scratch);
}

/** Joins the statistics of all chunks, for up to 32 tokens. */
static void join_scores_task(void *data, size_t index) {
  const TokenScores *t = data;
  for (long token = (long)index * BLOCK; token < least(t->tokens, ((long)index + 1) * BLOCK); token++) {
    float largest = -INFINITY, sum = 0, weighted = 0, *scores = t->scores + token * SCORES;
    for (long chunk = 0; chunk < t->chunks; chunk++) largest = fmaxf(largest, t->statistics[chunk * t->tokens + token].largest);
    for (long chunk = 0; chunk < t->chunks; chunk++) {
      const Statistics *s = t->statistics + chunk * t->tokens + token;
      const float factor = expf(s->largest - largest);
      sum += factor * s->sum;
      weighted += factor * s->weighted;
    }
    const float total = largest + logf(sum);
    scores[0] -= total;
    scores[1] = total - weighted / sum;
    scores[2] = total;
  }
}

/** Replaces a token's logits by their gradients. */
static void differentiate_logits(const float *known, const float *gradients, long target, long count, float *logits) {
  const __m512 entropy = _mm512_set1_ps(known[1]), total = _mm512_set1_ps(known[2]);
  const __m512 of_entropy = _mm512_set1_ps(gradients[1]), of_others = _mm512_set1_ps(gradients[2] - gradients[0]);
  for (long i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 logprob = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, logits + i), total);
    const __m512 factor = _mm512_fnmadd_ps(of_entropy, _mm512_add_ps(logprob, entropy), of_others);
    _mm512_mask_storeu_ps(logits + i, mask, _mm512_mul_ps(exponential(logprob), factor));
  }
  if (target >= 0 && target < count) logits[target] += gradients[0];
}

/** The backward pass for a group of chunks. */
static void differentiate_group_task(void *data, size_t index) {
  TokenScores *t = data;
  const long together = ceiling(t->chunks, t->groups), width = ceiling(t->size, BLOCK);
  const long strip = CHUNK_COLUMNS / BLOCK * left_size(t->rounded), panels_size = CHUNK_COLUMNS / BLOCK * packed_panel(t);
  const long size = panel_block(t);
  const size_t logits_bytes = BLOCK * CHUNK_COLUMNS * sizeof(float);
  const Scratch scratch = borrow(logits_bytes + (strip + 2 * panels_size) * sizeof(Packed));
  if (!scratch.memory) {
    t->failed = 1;
    return;
  }
  float *logits = scratch.memory, *sums = t->sums + (long)index * t->tokens * t->size;
  Packed *logits_strip = (Packed *)((char *)scratch.memory + logits_bytes), *panels = logits_strip + strip, *depth = panels + panels_size;
  const Factors none = {0};
  start_unit();
  const long begin = (long)index * together, end = least(t->chunks, begin + together);
  for (long chunk = begin; chunk < end; chunk++) {
    const long first = chunk * CHUNK_COLUMNS, columns = least(CHUNK_COLUMNS, t->vocabulary - first), blocks = ceiling(columns, BLOCK);
    pack_as_columns(part_of(t->weight, first, 0), columns, t->size, 1, panel_block(t), panels);
    pack_as_depth(part_of(t->weight, first, 0), columns, t->size, 1, size, depth);
    for (long row = 0; row < t->tokens; row += BLOCK) {
      const long rows = least(BLOCK, t->tokens - row);
      multiply_chunk(t, row, columns, panels, logits);
      for (long i = 0; i < rows; i++)
        differentiate_logits(t->known + (row + i) * SCORES, t->gradients + (row + i) * SCORES, (long)t->targets[row + i] - first, columns,
                             logits + i * CHUNK_COLUMNS);
      pack_rows(logits, CHUNK_COLUMNS, rows, columns, t->alpha, left_size(t->rounded), logits_strip);
      for (long panel = 0; panel < width; panel++) {
        float *into = sums + row * t->size + panel * BLOCK;
        multiply((Factors){logits_strip, depth + panel * blocks * size, blocks, left_size(t->rounded), size}, none,
                 (Target){chunk > begin ? into : 0, into, t->size, rows, least(BLOCK, t->size - panel * BLOCK)});
      }
    }
  }
  stop_unit();
  give_back(scratch);
}

/** Sums the gradients of up to 32 tokens over groups. */
static void sum_groups_task(void *data, size_t index) {
  const TokenScores *t = data;
  const long first = (long)index * BLOCK * t->size, end = least(t->tokens * t->size, first + BLOCK * t->size);
  for (long i = first; i < end; i += 16) {
    const __mmask16 mask = mask_of(end - i);
    __m512 sum = _mm512_setzero_ps();
    for (long group = 0; group < t->groups; group++) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, t->sums + group * t->tokens * t->size + i));
    _mm512_mask_storeu_ps(t->hidden_gradient + i, mask, sum);
  }
}

/** Computes the scores, or, where there are none to compute, the gradients. */
static void *compute_token_scores(TokenScores *t, void *context) {
  const long strips = ceiling(t->tokens, BLOCK);
  t->chunks = ceiling(t->vocabulary, CHUNK_COLUMNS);
  t->groups = ceiling(t->chunks, ceiling(t->chunks, GROUPS)); // none is empty
  const size_t strip_bytes = strips * packed_strip(t) * sizeof(Packed);
  const size_t others = t->scores ? t->chunks * t->tokens * sizeof(Statistics) : t->groups * t->tokens * t->size * sizeof(float);
  const Scratch scratch = borrow(strip_bytes + others);
  if (!scratch.memory) return out_of_memory();
  t->strips = scratch.memory;
  t->statistics = (Statistics *)((char *)scratch.memory + strip_bytes);
  t->sums = (float *)t->statistics;
  void *status = in_parallel(context, pack_hidden_task, strips, t);
  if (!status && t->scores) status = in_parallel(context, score_chunk_task, t->chunks, t);
  else if (!status) status = in_parallel(context, differentiate_group_task, t->groups, t);
  if (!status && t->failed) status = out_of_memory();
  if (!status) status = in_parallel(context, t->scores ? join_scores_task : sum_groups_task, strips, t);
  give_back(scratch);
  return status;
}
