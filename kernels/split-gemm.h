// SplitGemm, a matrix product for ONNX Runtime, on the unit of the processor that multiplies fastest (unit.h).
//
// Operands are cut into blocks of 32 × 32 numbers and packed as the unit reads them: into strips of 32 rows of the left operand and panels of 32
// columns of the right one. Threads share the panels, and also the strips if there are few panels. The order of a sum does not depend on how they are
// shared.
//
// Several products of one left operand can be one node: rows are then rounded only once, if right operands are integers, and threads meet less often.
// The first one may have an addend.
//
// A constant right operand can also be rounded to integers of 8 or 4 bits. Then the left operand is rounded too (rounding.h).
//
// The right operand may be in a format of weight files (stored.h), which is decoded where it is packed. Numbers that are stored as bfloat16
// take half of the memory, and on the matrix unit two products instead of three.
//
// In the order in which they build on each other: vectors.h, stored.h, product.h, unit.h with amx-products.h or vector-unit.h (multiply), packing.h,
// scratch.h, few-rows.h (multiplies what is not worth packing), levels.h, rounding.h and integer-product.h with integer-unit.h (integers), tasks.h
// (divides a product among threads), and here the operator that ONNX Runtime calls.

#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "onnxruntime.h"
#include "tasks.h"

/** A node of a graph. `packing` says when the right operand is packed, once if it is a constant, and to which numbers. */
typedef struct {
  int64_t left_transposed, right_transposed, lora_b_transposed, lora_a_transposed;
  int64_t format; // of the right operand
  enum { EACH_RUN, ONCE, ONCE_BFLOAT16, ONCE_INT8, ONCE_INT4, EACH_RUN_ROUNDED, EACH_RUN_COARSE } packing;
  float alpha, lora_b_alpha, lora_a_alpha;
  int64_t batch_invariant; // see Product
  int64_t count; // products, of one left operand
  Packed *packed[JOINT];
  int64_t packed_block[JOINT];
  Levels *levels[JOINT];
} ProductNode;

/**
 * Where the operands and results of one of the products are among inputs and outputs. Inputs are 0 left, 1 right, 2 addend, 3 inner, 4 B, 5 A, then
 * right, B and A of each further product; outputs the result of each and, after it, its inner. Further products compute theirs, with A.
 */
typedef struct {
  size_t right, lora_b, lora_a, result;
} Places;

static Places places_of(int64_t index) {
  const size_t i = (size_t)index;
  return i == 0 ? (Places){1, 4, 5, 0} : (Places){3 + 3 * i, 4 + 3 * i, 5 + 3 * i, 2 * i};
}

static OrtStatus *pack_constant(ProductNode *node, int64_t index, const OrtKernelInfo *info) {
  const OrtValue *value;
  int constant = 0;
  int64_t sizes[2];
  Product p = {.right_transposed = (int)node->right_transposed};
  OrtStatus *status = api->KernelInfoGetConstantInput_tensor(info, places_of(index).right, &constant, &value);
  if (!status && !constant) status = invalid_argument("SplitGemm: what is packed must be a constant");
  if (!status) status = read_matrix(value, node->format, &p.right, sizes);
  if (status) return status;
  p.columns = sizes[p.right_transposed ? 0 : 1];
  p.depth = sizes[p.right_transposed ? 1 : 0];
  if (node->packing == ONCE_INT8 || node->packing == ONCE_INT4) {
    node->levels[index] = make_levels(&p, node->packing == ONCE_INT8 ? 8 : 4);
    return node->levels[index] ? 0 : out_of_memory();
  }
  const int high = node->packing == ONCE_BFLOAT16 || are_bfloat16(p.right, p.columns * p.depth);
  node->packed_block[index] = high ? HIGH_BLOCK : WHOLE_BLOCK;
  node->packed[index] = pack_panels(&p, node->packed_block[index]);
  return node->packed[index] ? 0 : out_of_memory();
}

static void destroy_product(void *data) {
  ProductNode *node = data;
  for (int64_t i = 0; i < node->count; i++) {
    release(node->packed[i]);
    free_levels(node->levels[i]);
  }
  free(node);
}

static OrtStatus *create_product(const Operator *operator, const OrtApi * ignored, const OrtKernelInfo *info, void **created) {
  ProductNode *node = calloc(1, sizeof *node);
  if (!node) return out_of_memory();
  int64_t packing = EACH_RUN;
  OrtStatus *status = api->KernelInfoGetAttribute_int64(info, "transA", &node->left_transposed);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "transB", &node->right_transposed);
  if (!status) status = api->KernelInfoGetAttribute_float(info, "alpha", &node->alpha);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "packing", &packing);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "format", &node->format);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "lora_b_transB", &node->lora_b_transposed);
  if (!status) status = api->KernelInfoGetAttribute_float(info, "lora_b_alpha", &node->lora_b_alpha);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "lora_a_transB", &node->lora_a_transposed);
  if (!status) status = api->KernelInfoGetAttribute_float(info, "lora_a_alpha", &node->lora_a_alpha);
  if (!status) status = api->KernelInfoGetAttribute_int64(info, "batch_invariant", &node->batch_invariant);
  size_t inputs = 0;
  if (!status) status = api->KernelInfo_GetInputCount(info, &inputs);
  for (node->count = 1; node->count < JOINT && inputs > places_of(node->count).right;) node->count++;
  node->packing = packing;
  for (int64_t i = 0; !status && packing != EACH_RUN && packing < EACH_RUN_ROUNDED && i < node->count; i++) status = pack_constant(node, i, info);
  if (status) destroy_product(node);
  else *created = node;
  return status;
}

static OrtStatus *do_not_fit(void) { return invalid_argument("SplitGemm: the sizes of the operands do not fit"); }

/** Reads the factors of the thin product that is added, if there is one, and those of its left factor, if that is a product itself. */
static OrtStatus *read_thin(OrtKernelContext *context, Places places, Product *p, Product *lora_b, Product *lora_a) {
  int64_t lora_b_left[2], lora_b_right[2], lora_a_right[2];
  const float *lora_b_numbers = 0, *lora_a_numbers = 0;
  OrtStatus *status = read_input(context, 3, &lora_b->left, lora_b_left, 2);
  if (!status) status = read_input(context, places.lora_b, &lora_b_numbers, lora_b_right, 2);
  if (!status) status = read_input(context, places.lora_a, &lora_a_numbers, lora_a_right, 2);
  if (status || !lora_b_numbers) return status;
  lora_b->right = floats(lora_b_numbers, lora_b_right[1]);
  if (lora_a_numbers) {
    lora_a->right = floats(lora_a_numbers, lora_a_right[1]);
    const int columns = lora_a->right_transposed ? 0 : 1;
    lora_a->left = p->left;
    lora_a->rows = p->rows;
    lora_a->depth = p->depth;
    lora_a->columns = lora_a_right[columns];
    if (p->left_transposed || lora_a_right[1 - columns] != p->depth) return do_not_fit();
    lora_b_left[0] = p->rows;
    lora_b_left[1] = lora_a->columns;
    status = make_output(context, places.result + 1, lora_b_left, 2, &lora_a->result);
    if (status) return status;
    lora_b->left = lora_a->result;
    p->lora_a = lora_a;
  }
  const int columns = lora_b->right_transposed ? 0 : 1;
  lora_b->rows = p->rows;
  lora_b->columns = p->columns;
  lora_b->depth = lora_b_left[1];
  p->lora_b = lora_b;
  const int fit = lora_b_left[0] == p->rows && lora_b_right[columns] == p->columns && lora_b_right[1 - columns] == lora_b->depth;
  return fit ? 0 : do_not_fit();
}

/** Reads one of the products. Its thin ones are left in `lora_b` and `lora_a`. */
static OrtStatus *read_product(const ProductNode *node, int64_t index, OrtKernelContext *context, Product *p, Product *lora_b, Product *lora_a) {
  const Places places = places_of(index);
  *p = (Product){.left_transposed = (int)node->left_transposed,
                 .right_transposed = (int)node->right_transposed,
                 .alpha = node->alpha,
                 .rounding = node->packing == EACH_RUN_COARSE    ? ROUNDED_COARSELY
                             : node->packing == EACH_RUN_ROUNDED ? ROUNDED
                                                                 : NOT_ROUNDED,
                 .packed = node->packed[index],
                 .packed_block = node->packed_block[index],
                 .batch_invariant = (int)node->batch_invariant,
                 .levels = node->levels[index]};
  *lora_b = (Product){.right_transposed = (int)node->lora_b_transposed, .alpha = node->lora_b_alpha};
  *lora_a = (Product){.right_transposed = (int)node->lora_a_transposed, .alpha = node->lora_a_alpha};
  int64_t left[2], right[2], addend[2];
  OrtStatus *status = read_input(context, 0, &p->left, left, 2);
  if (!status) status = read_matrix_input(context, places.right, node->format, &p->right, right);
  if (!status && index == 0) status = read_input(context, 2, &p->addend, addend, 2);
  if (status) return status;
  p->rows = left[p->left_transposed ? 1 : 0];
  p->depth = left[p->left_transposed ? 0 : 1];
  p->columns = right[p->right_transposed ? 0 : 1];
  int64_t sizes[2] = {p->rows, p->columns};
  if (right[p->right_transposed ? 1 : 0] != p->depth || (p->addend && memcmp(addend, sizes, sizeof sizes))) return do_not_fit();
  status = read_thin(context, places, p, lora_b, lora_a);
  return status ? status : make_output(context, places.result, sizes, 2, &p->result);
}

static OrtStatus *run_product(void *data, OrtKernelContext *context) {
  const ProductNode *node = data;
  Product products[JOINT], ups[JOINT], downs[JOINT];
  OrtStatus *status = 0;
  for (int64_t i = 0; !status && i < node->count; i++) status = read_product(node, i, context, products + i, ups + i, downs + i);
  return status || products[0].rows == 0 ? status : compute_products(products, node->count, context);
}

static const Operator split_gemm = {
    COMMON_FIELDS,
    .called = "SplitGemm",
    .all_inputs = 3 + 3 * JOINT,
    .optional_inputs = 1 + 3 * JOINT, // the addend, the factors of the thin products, and the other products
    .stored = 1 << 1 | 1 << 6 | 1 << 9, // the right operands
    .all_outputs = 2 * JOINT,
    .optional_outputs = 2 * JOINT - 1, // the left factor of the thin product that is added, and the other products
    .create = create_product,
    .compute = run_product,
    .destroy = destroy_product,
};
