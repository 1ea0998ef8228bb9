// TokenScores, the operator that ONNX Runtime calls for logits.h.
#pragma once

#include "logits.h"
#include "onnxruntime.h"

typedef struct {
  float alpha, cap;
  int64_t format; // of the weight
  int64_t rounded; // whether operands of products are rounded
} TokenScoresNode;

static OrtStatus *create_token_scores(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  TokenScoresNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  OrtStatus *status = api->KernelInfoGetAttribute_float(info, "alpha", &node->alpha);
  if (!status) status = api->KernelInfoGetAttribute_float(info, "cap", &node->cap);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "format", &node->format);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "rounded", &node->rounded);
  if (status) free(node);
  else *created = node;
  return status;
}

static OrtStatus *read_tokens(const TokenScoresNode *node, OrtKernelContext *context, TokenScores *t) {
  int64_t hidden[2], weight[2], targets[1];
  OrtStatus *status = read_input(context, 0, &t->hidden, hidden, 2);
  if (!status) status = read_matrix_input(context, 1, node->format, &t->weight, weight);
  if (!status) status = read_input(context, 2, &t->targets, targets, 1);
  if (status) return status;
  t->alpha = node->alpha;
  t->cap = node->cap;
  t->rounding = node->rounded ? ROUNDED : NOT_ROUNDED;
  t->tokens = hidden[0];
  t->size = hidden[1];
  t->vocabulary = weight[0];
  int fit = weight[1] == t->size && targets[0] == t->tokens;
  for (int64_t i = 0; fit && i < t->tokens; i++) fit = t->targets[i] >= 0 && t->targets[i] < t->vocabulary;
  return fit ? 0 : invalid_argument("TokenScores: the operands do not fit");
}

static OrtStatus *run_token_scores(void *node, OrtKernelContext *context) {
  TokenScores t = {0};
  OrtStatus *status = read_tokens(node, context, &t);
  const int64_t numbers[2] = {t.tokens, 1}, rows[2] = {t.tokens, t.size};
  if (!status) status = make_output(context, 0, numbers, 2, &t.logprobs);
  if (!status) status = make_output(context, 1, numbers, 2, &t.entropies);
  for (; !status && t.directions < DIRECTIONS && has_output(context, 2 + t.directions); t.directions++)
    status = make_output(context, 2 + t.directions, rows, 2, &t.gradients[t.directions]);
  return status || t.tokens == 0 ? status : compute_token_scores(&t, context);
}

static const Operator token_scores = {
    COMMON_FIELDS,
    .called = "TokenScores",
    .all_inputs = 3,
    .all_outputs = 2 + DIRECTIONS,
    .optional_outputs = DIRECTIONS, // the gradients
    .integers = 1 << 2, // targets
    .stored = 1 << 1, // weight
    .create = create_token_scores,
    .compute = run_token_scores,
    .destroy = free,
};
