// StoredRows, the operator that ONNX Runtime calls to look rows up in a table that is in a format of weight files: embeddings.
#pragma once

#include <stdlib.h>
#include "onnxruntime.h"

typedef struct {
  int64_t format;
} StoredRowsNode;

static OrtStatus *create_stored_rows(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  StoredRowsNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  OrtStatus *status = api->KernelInfoGetAttribute_int64(info, "format", &node->format);
  if (status) free(node);
  else *created = node;
  return status;
}

/** (table [V, D], ids) → [ids, D]. */
static OrtStatus *run_stored_rows(void *data, OrtKernelContext *context) {
  enum { MOST_AXES = 3 };
  const StoredRowsNode *node = data;
  Matrix table;
  int64_t table_sizes[2], sizes[MOST_AXES + 1];
  const OrtValue *value;
  const int64_t *ids;
  size_t axes;
  float *rows;
  OrtStatus *status = read_matrix_input(context, 0, node->format, &table, table_sizes);
  if (!status) status = api->KernelContext_GetInput(context, 1, &value);
  if (!status) status = read_data(value, &ids);
  if (!status) status = read_shape(value, 0, MOST_AXES, sizes, &axes);
  if (status) return status;
  int64_t count = 1;
  for (size_t axis = 0; axis < axes; axis++) count *= sizes[axis];
  sizes[axes] = table_sizes[1];
  status = make_output(context, 0, sizes, axes + 1, &rows);
  for (int64_t i = 0; i < count && !status; i++) {
    if (ids[i] < 0 || ids[i] >= table_sizes[0]) return invalid_argument("StoredRows: the table has no such row");
    const Matrix row = part_of(table, ids[i], 0);
    decode(&row, 1, table_sizes[1] / STORED_BLOCK, rows + i * table_sizes[1]);
  }
  return status;
}

static const Operator stored_rows = {
    COMMON_FIELDS,
    .called = "StoredRows",
    .all_inputs = 2,
    .all_outputs = 1,
    .integers = 1 << 1, // ids
    .stored = 1 << 0, // table
    .create = create_stored_rows,
    .compute = run_stored_rows,
    .destroy = free,
};
