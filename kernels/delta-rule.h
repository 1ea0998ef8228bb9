// DeltaRule and DeltaRuleGradient, the operators that ONNX Runtime calls for delta-chunks.h.
#pragma once

#include "delta-chunks.h"
#include "onnxruntime.h"

typedef struct {
  int64_t key_heads, value_heads;
} DeltaNode;

static OrtStatus *create_delta(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  DeltaNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  OrtStatus *status = api->KernelInfoGetAttribute_int64(info, "key_heads", &node->key_heads);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "value_heads", &node->value_heads);
  if (status) free(node);
  else *created = node;
  return status;
}

/** Reads what both operators have in common: query, key, value, decay, beta and segments. */
static OrtStatus *read_delta(const DeltaNode *node, OrtKernelContext *context, Delta *d) {
  int64_t query[2], key[2], value[2], decay[2], beta[2], segments[2];
  OrtStatus *status = read_input(context, 0, &d->query, query, 2);
  if (!status) status = read_input(context, 1, &d->key, key, 2);
  if (!status) status = read_input(context, 2, &d->value, value, 2);
  if (!status) status = read_input(context, 3, &d->decay, decay, 2);
  if (!status) status = read_input(context, 4, &d->beta, beta, 2);
  if (!status) status = read_input(context, 5, &d->segments, segments, 2);
  if (status) return status;
  d->rows = query[0];
  d->key_heads = node->key_heads;
  d->value_heads = node->value_heads;
  d->key_size = query[1] / d->key_heads;
  d->value_size = value[1] / d->value_heads;
  d->segment_count = segments[0];
  const int64_t values[2] = {d->rows, d->value_heads * d->value_size}, gates[2] = {d->rows, d->value_heads};
  const int fit = query[1] == d->key_heads * d->key_size && d->value_heads % d->key_heads == 0 && !memcmp(query, key, sizeof key) &&
                  !memcmp(value, values, sizeof value) && !memcmp(decay, gates, sizeof decay) && !memcmp(beta, gates, sizeof beta) &&
                  segments[1] == 3;
  return fit && chain_fits(d) ? 0 : invalid_argument("DeltaRule: the sizes of the operands do not fit");
}

static OrtStatus *run_delta(void *node, OrtKernelContext *context) {
  Delta d = {0};
  OrtStatus *status = read_delta(node, context, &d);
  if (!status) status = make_output(context, 0, (int64_t[]){d.rows, d.value_heads * d.value_size}, 2, &d.output);
  return status || d.rows == 0 ? status : compute_delta(&d, context);
}

static OrtStatus *run_delta_gradient(void *node, OrtKernelContext *context) {
  Delta d = {0};
  int64_t sizes[2];
  OrtStatus *status = read_delta(node, context, &d);
  if (!status) status = read_input(context, 6, &d.gradient, sizes, 2);
  if (status) return status;
  const int64_t keys[2] = {d.rows, d.key_heads * d.key_size}, values[2] = {d.rows, d.value_heads * d.value_size}, gates[2] = {d.rows, d.value_heads};
  if (memcmp(sizes, values, sizeof sizes)) return invalid_argument("DeltaRuleGradient: the gradient has another size than the values");
  status = make_output(context, 0, keys, 2, &d.query_gradient);
  if (!status) status = make_output(context, 1, keys, 2, &d.key_gradient);
  if (!status) status = make_output(context, 2, values, 2, &d.value_gradient);
  if (!status) status = make_output(context, 3, gates, 2, &d.decay_gradient);
  if (!status) status = make_output(context, 4, gates, 2, &d.beta_gradient);
  return status || d.rows == 0 ? status : compute_delta(&d, context);
}

enum { DELTA_SEGMENTS = 1 << 5 }; // the input that has integers

static const Operator delta_rule = {
    COMMON_FIELDS,          .called = "DeltaRule", .all_inputs = 6, .all_outputs = 1, .integers = DELTA_SEGMENTS,
    .create = create_delta, .compute = run_delta,  .destroy = free,
};

static const Operator delta_rule_gradient = {
    COMMON_FIELDS,          .called = "DeltaRuleGradient", .all_inputs = 7, .all_outputs = 5, .integers = DELTA_SEGMENTS,
    .create = create_delta, .compute = run_delta_gradient, .destroy = free,
};
