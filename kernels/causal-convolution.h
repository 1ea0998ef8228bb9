// CausalConvolution and CausalConvolutionGradient, the operators that ONNX Runtime calls for depthwise convolutions. Taps are the indices of rows.
//
// Most time is spent reading rows. Forward, a task is some rows. Backward, it is some columns, whose sums no other task changes, so results do not depend
// on the number of threads.
#pragma once

#include <string.h>
#include "onnxruntime.h"
#include "product.h"
#include "vectors.h"

enum {
  MOST_TAPS = 16,
  CONVOLVED_NUMBERS = 16384, // of a task, at least
  CONVOLVED_COLUMNS = 64, // of a task of gradients
};

typedef struct {
  const float *x, *weight, *gradient; // [count, channels], [length, channels] and [rows, channels]
  const int64_t *taps; // [rows, length]
  int64_t count, channels, rows, length, rows_of_task;
  float *result, *x_gradient, *weight_gradient;
} Convolution;

static void convolve_rows(void *data, size_t index) {
  const Convolution *c = data;
  const int64_t first = (int64_t)index * c->rows_of_task, last = least(first + c->rows_of_task, c->rows);
  for (int64_t row = first; row < last; row++) {
    const float *read[MOST_TAPS], *weights[MOST_TAPS];
    int taps = 0;
    for (int64_t i = 0; i < c->length; i++) {
      const int64_t at = c->taps[row * c->length + i];
      if (at == c->count) continue;
      read[taps] = c->x + at * c->channels;
      weights[taps++] = c->weight + i * c->channels;
    }
    float *result = c->result + row * c->channels;
    for (int64_t column = 0; column < c->channels; column += 16) {
      const int64_t there = c->channels - column;
      Vector sum = broadcast(0);
      for (int i = 0; i < taps; i++) sum = fmadd(load_first(there, weights[i] + column), load_first(there, read[i] + column), sum);
      store_first(there, result + column, sum);
    }
  }
}

static void convolve_gradients(void *data, size_t index) {
  const Convolution *c = data;
  const int64_t first = (int64_t)index * CONVOLVED_COLUMNS, columns = least(CONVOLVED_COLUMNS, c->channels - first);
  float weights[MOST_TAPS * CONVOLVED_COLUMNS] = {0}, sums[MOST_TAPS * CONVOLVED_COLUMNS] = {0};
  for (int64_t i = 0; i < c->length; i++) memcpy(weights + i * CONVOLVED_COLUMNS, c->weight + i * c->channels + first, columns * sizeof *weights);
  for (int64_t row = 0; row < c->count; row++) memset(c->x_gradient + row * c->channels + first, 0, columns * sizeof *c->x_gradient);
  for (int64_t row = 0; row < c->rows; row++) {
    const float *gradient = c->gradient + row * c->channels + first;
    for (int64_t i = 0; i < c->length; i++) {
      const int64_t at = c->taps[row * c->length + i];
      if (at == c->count) continue;
      const float *x = c->x + at * c->channels + first, *weight = weights + i * CONVOLVED_COLUMNS;
      float *into = c->x_gradient + at * c->channels + first, *sum = sums + i * CONVOLVED_COLUMNS;
      for (int64_t column = 0; column < columns; column += 16) {
        const int64_t there = columns - column;
        const Vector dy = load_first(there, gradient + column);
        store_first(there, into + column, fmadd(load(weight + column), dy, load_first(there, into + column)));
        if (c->weight_gradient) store(sum + column, fmadd(load_first(there, x + column), dy, load(sum + column)));
      }
    }
  }
  if (!c->weight_gradient) return;
  for (int64_t i = 0; i < c->length; i++) memcpy(c->weight_gradient + i * c->channels + first, sums + i * CONVOLVED_COLUMNS, columns * sizeof *sums);
}

static OrtStatus *create_convolution(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  *created = (void *)operator; // it has no attributes
  return 0;
}

static void destroy_convolution(void *node) {}

/** Reads what both operators have in common: x, the weight and the taps. */
static OrtStatus *read_convolution(OrtKernelContext *context, Convolution *c) {
  int64_t x[2], weight[2], taps[2];
  OrtStatus *status = read_input(context, 0, &c->x, x, 2);
  if (!status) status = read_input(context, 1, &c->weight, weight, 2);
  if (!status) status = read_input(context, 2, &c->taps, taps, 2);
  if (status) return status;
  c->count = x[0];
  c->channels = x[1];
  c->rows = taps[0];
  c->length = taps[1];
  int fit = weight[0] == c->length && weight[1] == c->channels && c->length <= MOST_TAPS;
  for (int64_t i = 0; fit && i < c->rows * c->length; i++) fit = c->taps[i] >= 0 && c->taps[i] <= c->count;
  return fit ? 0 : invalid_argument("CausalConvolution: the sizes of the operands do not fit, or a tap is at no row");
}

static OrtStatus *run_convolution(void *node, OrtKernelContext *context) {
  Convolution c = {0};
  OrtStatus *status = read_convolution(context, &c);
  if (!status) status = make_output(context, 0, (int64_t[]){c.rows, c.channels}, 2, &c.result);
  if (status || c.rows == 0 || c.channels == 0) return status;
  c.rows_of_task = ceiling(CONVOLVED_NUMBERS, c.channels);
  return in_parallel(context, convolve_rows, ceiling(c.rows, c.rows_of_task), &c);
}

static OrtStatus *run_convolution_gradient(void *node, OrtKernelContext *context) {
  Convolution c = {0};
  int64_t sizes[2];
  OrtStatus *status = read_convolution(context, &c);
  if (!status) status = read_input(context, 3, &c.gradient, sizes, 2);
  if (!status && (sizes[0] != c.rows || sizes[1] != c.channels))
    status = invalid_argument("CausalConvolutionGradient: the gradient has another size than the output");
  if (!status) status = make_output(context, 0, (int64_t[]){c.count, c.channels}, 2, &c.x_gradient);
  if (!status && has_output(context, 1)) status = make_output(context, 1, (int64_t[]){c.length, c.channels}, 2, &c.weight_gradient);
  if (status || c.channels == 0) return status;
  return in_parallel(context, convolve_gradients, ceiling(c.channels, CONVOLVED_COLUMNS), &c);
}

static const Operator causal_convolution = {
    COMMON_FIELDS,
    .called = "CausalConvolution",
    .all_inputs = 3,
    .all_outputs = 1,
    .integers = 1 << 2,
    .create = create_convolution,
    .compute = run_convolution,
    .destroy = destroy_convolution,
};

static const Operator causal_convolution_gradient = {
    COMMON_FIELDS,
    .called = "CausalConvolutionGradient",
    .all_inputs = 4,
    .all_outputs = 2,
    .optional_outputs = 1,
    .integers = 1 << 2, // taps
    .create = create_convolution,
    .compute = run_convolution_gradient,
    .destroy = destroy_convolution,
};
