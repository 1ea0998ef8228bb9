// Divides a product into tasks, and computes it.
#pragma once

#include <stdatomic.h>
#include "blas.h"
#include "few-rows.h"
#include "integer-product.h"

/** One part of the depth of a product, and how it is divided into tasks. */
typedef struct {
  const Product *product;
  int64_t start, depth, blocks; // where it begins, its size, and that in blocks
  int64_t left_block, right_block, thin_block; // sizes of blocks of strips, of panels, and of panels of thin products
  const Product *lora_b; // inner · B, which goes with the last part, and its depth in blocks
  int64_t lora_b_blocks;
  Packed *lora_a_panels; // packed, if there is such a product
  int64_t panels_per_task, panel_tasks; // a task for each of so many parts of the panels …
  int64_t strips_per_task, strip_tasks; // … and of the strips
  Packed *strips; // packed, if several tasks read them; otherwise each task packs its own
  atomic_int failed;
} Pass;

/** How many numbers a packed strip has: first those of the left operand, then those of `inner`. */
static int64_t strip_size(const Pass *pass) { return (pass->blocks + pass->lora_b_blocks) * pass->left_block; }

/** Adds a packed strip's part of the product that is computed on the way. */
static void multiply_down(const Pass *pass, int64_t row, const Packed *strip) {
  const Product *lora_a = pass->product->lora_a;
  for (int64_t column = 0; column < lora_a->columns; column += BLOCK) {
    float *into = lora_a->result + row * lora_a->columns + column;
    const Packed *panel = pass->lora_a_panels + column / BLOCK * pass->blocks * pass->thin_block;
    multiply((Factors){strip, panel, pass->depth, pass->left_block, pass->thin_block}, (Factors){0},
             (Target){pass->start > 0 ? into : 0, into, lora_a->columns, least(BLOCK, pass->product->rows - row),
                      least(BLOCK, lora_a->columns - column), pass->product->batch_invariant});
  }
}

static void pack_strip(const Pass *pass, int64_t row, Packed *into) {
  pack_left(pass->product, row, pass->start, pass->depth, pass->left_block, into);
  if (pass->lora_a_panels) multiply_down(pass, row, into);
  if (pass->lora_b) pack_left(pass->lora_b, row, 0, pass->lora_b->depth, pass->left_block, into + pass->blocks * pass->left_block);
}

static void pack_strip_task(void *data, size_t index) {
  const Pass *pass = data;
  start_unit();
  pack_strip(pass, (int64_t)index * BLOCK, pass->strips + (int64_t)index * strip_size(pass));
  stop_unit();
}

/** Prefetches the part with this index, of so many parts, into the second cache. */
static inline void prefetch_part(const Packed *from, int64_t size, int64_t part, int64_t parts) {
  const int64_t lines = size * (int64_t)sizeof(Packed) / 64;
  for (int64_t line = lines * part / parts; line < lines * (part + 1) / parts; line++) __builtin_prefetch((const char *)from + 64 * line, 0, 2);
}

static void multiply_task(void *data, size_t index) {
  Pass *pass = data;
  const Product *p = pass->product;
  const int64_t first_row = (int64_t)index % pass->strip_tasks * pass->strips_per_task * BLOCK,
                last_row = least(p->rows, first_row + pass->strips_per_task * BLOCK);
  const int64_t first = (int64_t)index / pass->strip_tasks * pass->panels_per_task * BLOCK,
                last = least(p->columns, first + pass->panels_per_task * BLOCK);
  const Scratch scratch = borrow((1 + ceiling(last - first, BLOCK)) * strip_size(pass) * sizeof(Packed));
  if (!scratch.memory) {
    pass->failed = 1;
    return;
  }
  // A strip, the panels of `lora_b`, and those of `right` unless they are in memory as they are needed.
  Packed *own_strip = scratch.memory, *lora_b_panels = own_strip + strip_size(pass);
  const int64_t lora_b_size = pass->lora_b_blocks * pass->thin_block, lora_b_depth = pass->lora_b ? pass->lora_b->depth : 0;
  if (pass->lora_b) pack_right(pass->lora_b, first, last, 0, pass->lora_b->depth, 1, pass->thin_block, lora_b_panels);
  const Packed *panels;
  int64_t panel_size;
  if (p->packed) {
    panel_size = ceiling(p->depth, BLOCK) * pass->right_block;
    panels = p->packed + first / BLOCK * panel_size + pass->start / BLOCK * pass->right_block;
  } else {
    Packed *own_panels = lora_b_panels + ceiling(last - first, BLOCK) * lora_b_size;
    pack_right(p, first, last, pass->start, pass->depth, 1, pass->right_block, own_panels);
    panel_size = pass->blocks * pass->right_block;
    panels = own_panels;
  }

  start_unit();
  const float *base = pass->start > 0 ? p->result : p->addend;
  for (int64_t row = first_row; row < last_row; row += BLOCK) {
    const Packed *strip = own_strip;
    if (pass->strips) strip = pass->strips + row / BLOCK * strip_size(pass);
    else pack_strip(pass, row, own_strip);
    for (int64_t column = first; column < last; column += BLOCK) {
      const int64_t panel = (column - first) / BLOCK, place = row * p->columns + column;
      if (pass->strips && row + BLOCK < last_row) prefetch_part(strip + strip_size(pass), strip_size(pass), panel, ceiling(last - first, BLOCK));
      multiply(
          (Factors){strip, panels + panel * panel_size, pass->depth, pass->left_block, pass->right_block},
          (Factors){strip + pass->blocks * pass->left_block, lora_b_panels + panel * lora_b_size, lora_b_depth, pass->left_block, pass->thin_block},
          (Target){base ? base + place : 0, p->result + place, p->columns, least(BLOCK, p->rows - row), least(BLOCK, p->columns - column),
                   p->batch_invariant});
    }
  }
  stop_unit();
  give_back(scratch);
}

/** Decides how a part of the depth is divided into tasks. */
static Pass plan(const Product *p, int64_t start) {
  const int64_t depth = least(DEPTH, p->depth - start), strips = ceiling(p->rows, BLOCK), panels = ceiling(p->columns, BLOCK);
  Pass pass = {.product = p, .start = start, .depth = depth, .blocks = ceiling(depth, BLOCK)};
  pass.left_block = left_size(p->rounding);
  pass.right_block = p->packed ? p->packed_block : right_size(p->right.format, p->rounding);
  pass.thin_block = right_size(FLOAT32, p->rounding);
  if (p->lora_b && start + depth == p->depth) {
    pass.lora_b = p->lora_b;
    pass.lora_b_blocks = ceiling(p->lora_b->depth, BLOCK);
  }
  const int64_t fitting = GROUP_BYTES / (strip_size(&pass) * (int64_t)sizeof(Packed));
  pass.panels_per_task = least(fitting > 0 ? fitting : 1, panels > 2 * TASKS || strips < TASKS ? ceiling(panels, TASKS) : panels);
  pass.panel_tasks = ceiling(panels, pass.panels_per_task);
  pass.strips_per_task = ceiling(strips, ceiling(TASKS, pass.panel_tasks));
  pass.strip_tasks = ceiling(strips, pass.strips_per_task);
  return pass;
}

static OrtStatus *run_pass(Pass *pass, OrtKernelContext *context) {
  const Product *p = pass->product, *lora_a = p->lora_a;
  const int64_t strips = pass->panel_tasks > 1 ? ceiling(p->rows, BLOCK) : 0, lora_a_panels = lora_a ? ceiling(lora_a->columns, BLOCK) : 0;
  const Scratch scratch = borrow((strips * strip_size(pass) + lora_a_panels * pass->blocks * pass->thin_block) * sizeof(Packed));
  if (!scratch.memory) return out_of_memory();
  OrtStatus *status = 0;
  if (lora_a) {
    pass->lora_a_panels = (Packed *)scratch.memory + strips * strip_size(pass);
    pack_right(lora_a, 0, lora_a->columns, pass->start, pass->depth, lora_a->alpha, pass->thin_block, pass->lora_a_panels);
  }
  if (strips > 0) {
    pass->strips = scratch.memory;
    status = in_parallel(context, pack_strip_task, strips, pass);
  }
  if (!status) status = in_parallel(context, multiply_task, pass->panel_tasks * pass->strip_tasks, pass);
  give_back(scratch);
  return !status && pass->failed ? out_of_memory() : status;
}

static OrtStatus *compute_product(const Product *p, OrtKernelContext *context) {
  if (p->packed && p->rows <= FEW_ROWS && !p->batch_invariant) return compute_few(p, context);
#ifdef BLAS_LIBRARY
  if (is_for_blas(p)) return compute_by_blas(p, context);
#endif
  OrtStatus *status = 0;
  for (int64_t start = 0; start < p->depth && !status; start += DEPTH) {
    Pass pass = plan(p, start);
    status = run_pass(&pass, context);
  }
  return status;
}

/** Products of one left operand, all in the same format. */
static OrtStatus *compute_products(const Product *products, int64_t count, OrtKernelContext *context) {
  if (products->levels) return compute_integers(products, count, context);
  OrtStatus *status = 0;
  for (int64_t i = 0; i < count && !status; i++) status = compute_product(products + i, context);
  return status;
}
