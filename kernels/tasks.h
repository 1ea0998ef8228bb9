// Divides a product into tasks, and computes it.
#pragma once

#include <stdatomic.h>
#include "few-rows.h"
#include "rounded-product.h"
#include "tiles.h"

/** One part of the depth of a product, and how it is divided into tasks. */
typedef struct {
  const Product *product;
  long start, depth, blocks; // where it begins, its size, and that in blocks
  const Product *other;      // the other product, which goes with the last part, and its size in blocks
  long other_blocks;
  long group, groups;        // panels of a task, and into how many groups they are divided
  long batch, batches;       // strips of a task, and into how many batches they are divided
  bfloat16 *strips;          // packed, if several groups read them; otherwise each task packs its own
  atomic_int failed;
} Pass;

/** How many numbers a packed strip has: first those of the product, then those of the other one. */
static long strip_size(const Pass *pass) { return (pass->blocks + pass->other_blocks) * WHOLE; }

static void pack_strip(const Pass *pass, long row, bfloat16 *into) {
  pack_left(pass->product, row, pass->start, pass->depth, into);
  if (pass->other) pack_left(pass->other, row, 0, pass->other->depth, into + pass->blocks * WHOLE);
}

static void pack_strip_task(void *data, size_t index) {
  const Pass *pass = data;
  pack_strip(pass, (long)index * BLOCK, pass->strips + (long)index * strip_size(pass));
}

static void multiply_task(void *data, size_t index) {
  Pass *pass = data;
  const Product *p = pass->product;
  const long first_row = (long)index % pass->batches * pass->batch * BLOCK, last_row = least(p->rows, first_row + pass->batch * BLOCK);
  const long first = (long)index / pass->batches * pass->group * BLOCK, last = least(p->columns, first + pass->group * BLOCK);
  const Scratch scratch = borrow((1 + ceiling(last - first, BLOCK)) * strip_size(pass) * sizeof(bfloat16));
  if (!scratch.memory) {
    pass->failed = 1;
    return;
  }
  // A strip, the panels of the other product, and those of the product unless they are in memory as they are needed.
  bfloat16 *own_strip = scratch.memory, *other_panels = own_strip + strip_size(pass);
  const long other_size = pass->other_blocks * WHOLE;
  if (pass->other) pack_right(pass->other, first, last, 0, pass->other->depth, other_panels);
  const bfloat16 *panels;
  long panel_size, block_size = WHOLE;
  if (p->packed) {
    block_size = p->packed_block;
    panel_size = ceiling(p->depth, BLOCK) * block_size;
    panels = p->packed + first / BLOCK * panel_size + pass->start / BLOCK * block_size;
  } else {
    bfloat16 *own_panels = other_panels + ceiling(last - first, BLOCK) * other_size;
    pack_right(p, first, last, pass->start, pass->depth, own_panels);
    panel_size = pass->blocks * WHOLE;
    panels = own_panels;
  }

  configure();
  const float *base = pass->start > 0 ? p->result : p->addend;
  for (long row = first_row; row < last_row; row += BLOCK) {
    const bfloat16 *strip = own_strip;
    if (pass->strips) strip = pass->strips + row / BLOCK * strip_size(pass);
    else pack_strip(pass, row, own_strip);
    for (long column = first; column < last; column += BLOCK) {
      const long panel = (column - first) / BLOCK, place = row * p->columns + column;
      multiply((Factors){strip, panels + panel * panel_size, pass->blocks, block_size},
               (Factors){strip + pass->blocks * WHOLE, other_panels + panel * other_size, pass->other_blocks, WHOLE},
               (Target){base ? base + place : 0, p->result + place, p->columns, least(BLOCK, p->rows - row),
                        least(BLOCK, p->columns - column)});
    }
  }
  _tile_release();
  give_back(scratch);
}

static void *compute_product(const Product *p, void *context) {
  if (p->rounded) return compute_rounded(p, context);
  if (p->packed && p->rows <= FEW) return compute_few(p, context);
  const long strips = ceiling(p->rows, BLOCK), panels = ceiling(p->columns, BLOCK);
  void *status = 0;
  for (long start = 0; start < p->depth && !status; start += DEPTH) {
    const long depth = least(DEPTH, p->depth - start), blocks = ceiling(depth, BLOCK);
    Pass pass = {.product = p, .start = start, .depth = depth, .blocks = blocks};
    if (p->other && start + depth == p->depth) {
      pass.other = p->other;
      pass.other_blocks = ceiling(p->other->depth, BLOCK);
    }
    const long fitting = GROUP_BYTES / (strip_size(&pass) * (long)sizeof(bfloat16));
    pass.group = least(fitting > 0 ? fitting : 1, panels > 2 * TASKS || strips < TASKS ? ceiling(panels, TASKS) : panels);
    pass.groups = ceiling(panels, pass.group);
    pass.batch = ceiling(strips, ceiling(TASKS, pass.groups));
    pass.batches = ceiling(strips, pass.batch);
    Scratch scratch = {0, 0};
    if (pass.groups > 1) {
      scratch = borrow(strips * strip_size(&pass) * sizeof(bfloat16));
      pass.strips = scratch.memory;
      if (!pass.strips) return out_of_memory();
      status = in_parallel(context, pack_strip_task, strips, &pass);
    }
    if (!status) status = in_parallel(context, multiply_task, pass.groups * pass.batches, &pass);
    if (scratch.memory) give_back(scratch);
    if (!status && pass.failed) status = out_of_memory();
  }
  return status;
}
