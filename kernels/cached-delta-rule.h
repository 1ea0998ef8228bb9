// CachedDeltaRule, the operator that ONNX Runtime calls for the gated delta rule of delta-chunks.h while sampling; it continues from the states of texts.
//
// Each token is computed alone, from the state before it, so its numbers are the same to the last bit whatever is read with it. A value head of a text is
// a task.
#pragma once

#include "delta-rule.h"
#include "vectors.h"

typedef struct {
  const float *query, *key, *value, *decay, *beta, *before; // before: [texts, value heads, key size, value size]
  int64_t rows, texts, key_heads, value_heads, key_size, value_size;
  float *output, *after;
} CachedDelta;

/** Some columns of a state, at most 16, change with one token. Returns what the query reads of them. */
static Vector step_columns(const CachedDelta *d, float *state, int64_t there, const float *key, const float *query, Vector value, float decay,
                           float beta) {
  Vector known = broadcast(0), output = broadcast(0);
  for (int64_t i = 0; i < d->key_size; i++) {
    float *row = state + i * d->value_size;
    const Vector decayed = mul(broadcast(decay), load_first(there, row));
    store_first(there, row, decayed);
    known = fmadd(broadcast(key[i]), decayed, known);
  }
  const Vector error = mul(broadcast(beta), sub(value, known));
  for (int64_t i = 0; i < d->key_size; i++) {
    float *row = state + i * d->value_size;
    const Vector learnt = fmadd(broadcast(key[i]), error, load_first(there, row));
    store_first(there, row, learnt);
    output = fmadd(broadcast(query[i]), learnt, output);
  }
  return output;
}

static void step_head(void *data, size_t index) {
  const CachedDelta *d = data;
  const int64_t text = (int64_t)index / d->value_heads, head = (int64_t)index % d->value_heads;
  const int64_t key_head = head / (d->value_heads / d->key_heads), size = d->key_size * d->value_size, steps = d->rows / d->texts;
  float *state = d->after + (int64_t)index * size;
  // A run may update states in place.
  memmove(state, d->before + (int64_t)index * size, size * sizeof *state);
  for (int64_t row = text * steps; row < (text + 1) * steps; row++) {
    float decay[16];
    store(decay, exponential(broadcast(d->decay[row * d->value_heads + head])));
    const float beta = d->beta[row * d->value_heads + head];
    const int64_t keys = (row * d->key_heads + key_head) * d->key_size, values = (row * d->value_heads + head) * d->value_size;
    for (int64_t column = 0; column < d->value_size; column += 16) {
      const int64_t there = d->value_size - column;
      const Vector value = load_first(there, d->value + values + column);
      store_first(there, d->output + values + column, step_columns(d, state + column, there, d->key + keys, d->query + keys, value, *decay, beta));
    }
  }
}

static OrtStatus *run_cached_delta(void *created, OrtKernelContext *context) {
  const DeltaNode *node = created;
  CachedDelta d = {.key_heads = node->key_heads, .value_heads = node->value_heads};
  int64_t query[2], key[2], value[2], decay[2], beta[2], state[4];
  OrtStatus *status = read_input(context, 0, &d.query, query, 2);
  if (!status) status = read_input(context, 1, &d.key, key, 2);
  if (!status) status = read_input(context, 2, &d.value, value, 2);
  if (!status) status = read_input(context, 3, &d.decay, decay, 2);
  if (!status) status = read_input(context, 4, &d.beta, beta, 2);
  if (!status) status = read_input(context, 5, &d.before, state, 4);
  if (status) return status;
  d.rows = query[0];
  d.texts = state[0];
  d.key_size = state[2];
  d.value_size = state[3];
  const int64_t keys[2] = {d.rows, d.key_heads * d.key_size}, values[2] = {d.rows, d.value_heads * d.value_size}, gates[2] = {d.rows, d.value_heads};
  const int fit = state[1] == d.value_heads && d.value_heads % d.key_heads == 0 && !memcmp(query, keys, sizeof keys) &&
                  !memcmp(key, keys, sizeof keys) && !memcmp(value, values, sizeof values) && !memcmp(decay, gates, sizeof gates) &&
                  !memcmp(beta, gates, sizeof gates) && (d.texts == 0 ? d.rows == 0 : d.rows % d.texts == 0);
  if (!fit) return invalid_argument("CachedDeltaRule: the sizes of the operands do not fit");
  status = make_output(context, 0, values, 2, &d.output);
  if (!status) status = make_output(context, 1, state, 4, &d.after);
  return status || d.texts == 0 ? status : in_parallel(context, step_head, d.texts * d.value_heads, &d);
}

static const Operator cached_delta_rule = {
    COMMON_FIELDS,          .called = "CachedDeltaRule", .all_inputs = 6, .all_outputs = 2,
    .create = create_delta, .compute = run_cached_delta, .destroy = free,
};
