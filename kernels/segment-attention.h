// SegmentAttention and SegmentAttentionGradient, the operators that ONNX Runtime calls for attention.h.
#pragma once

#include "attention.h"
#include "onnxruntime.h"

typedef struct {
  int64_t heads, kv_heads, window, rounded;
  int64_t batch_invariant, appends; // of attention over a cache
  float scale;
} AttentionNode;

static OrtStatus *create_attention(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  AttentionNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  OrtStatus *status = api->KernelInfoGetAttribute_int64(info, "heads", &node->heads);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "key_value_heads", &node->kv_heads);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "window", &node->window);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "rounded", &node->rounded);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "batch_invariant", &node->batch_invariant);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "appends", &node->appends);
  if (!status) status = api->KernelInfoGetAttribute_float(info, "scale", &node->scale);
  if (status) free(node);
  else *created = node;
  return status;
}

/** Reads what both operators have in common: query, key, value and segments. */
static OrtStatus *read_attention(const AttentionNode *node, OrtKernelContext *context, Attention *a) {
  int64_t query[2], key[2], value[2], segments[2];
  OrtStatus *status = read_input(context, 0, &a->query, query, 2);
  if (!status) status = read_matrix_input(context, 1, FLOAT32, &a->key, key);
  if (!status) status = read_matrix_input(context, 2, FLOAT32, &a->value, value);
  if (!status) status = read_input(context, 3, &a->segments, segments, 2);
  if (status) return status;
  a->rows = query[0];
  a->heads = node->heads;
  a->kv_heads = node->kv_heads;
  a->size = query[1] / node->heads;
  a->scale = node->scale;
  a->rounded = (int)node->rounded;
  a->window = (int64_t)node->window;
  a->head_stride = a->size;
  a->segment_count = segments[0];
  const int fit = query[1] == a->heads * a->size && a->heads % a->kv_heads == 0 && key[0] == a->rows && key[1] == a->kv_heads * a->size &&
                  !memcmp(key, value, sizeof key) && segments[1] == 3;
  return fit && segments_fit(a) ? 0 : invalid_argument("SegmentAttention: the sizes of the operands do not fit");
}

static OrtStatus *run_attention(void *node, OrtKernelContext *context) {
  Attention a = {0};
  OrtStatus *status = read_attention(node, context, &a);
  if (!status) status = make_output(context, 0, (int64_t[]){a.rows, a.heads * a.size}, 2, &a.output);
  return status || a.rows == 0 ? status : compute_attention(&a, context);
}

static OrtStatus *run_attention_gradient(void *node, OrtKernelContext *context) {
  Attention a = {0};
  int64_t sizes[2];
  OrtStatus *status = read_attention(node, context, &a);
  if (!status) status = read_input(context, 4, &a.gradient, sizes, 2);
  if (!status && (sizes[0] != a.rows || sizes[1] != a.heads * a.size))
    status = invalid_argument("SegmentAttentionGradient: the gradient has another size than the query");
  if (!status) status = make_output(context, 0, sizes, 2, &a.query_gradient);
  sizes[1] = a.kv_heads * a.size;
  if (!status) status = make_output(context, 1, sizes, 2, &a.key_gradient);
  if (!status) status = make_output(context, 2, sizes, 2, &a.value_gradient);
  return status || a.rows == 0 ? status : compute_attention(&a, context);
}

enum { SEGMENTS = 1 << 3 }; // the input that has integers

static const Operator segment_attention = {
    COMMON_FIELDS,        .called = "SegmentAttention", .all_inputs = 4,          .all_outputs = 1,
    .integers = SEGMENTS, .create = create_attention,   .compute = run_attention, .destroy = free,
};

static const Operator segment_attention_gradient = {
    COMMON_FIELDS,
    .called = "SegmentAttentionGradient",
    .all_inputs = 5,
    .all_outputs = 3,
    .integers = SEGMENTS,
    .create = create_attention,
    .compute = run_attention_gradient,
    .destroy = free,
};
