// Causal attention of segments of rows, and its gradients.
//
// A segment is a run of rows. Each row attends to itself, to the rows before it in its segment, to all rows of another segment, its prefix, if it has
// one, to that one's prefix, and so on: completions share the keys and values of their prompt, and branches of a conversation those of their beginning.
// With a window, a row attends only to the last of these. Scores exist only for some rows at a time, and the backward pass computes them again
// (Dao et al. 2022, arXiv:2205.14135); their rows are short enough to need no running maximum.
//
// Heads lie side by side in a row. Several query heads share a key-value head. What is computed for one key-value head and some rows of one
// segment, a part, is a task. A part's scores have a column for each key: first those of its prefixes, then those of its own segment up to its last
// row, each segment padded to whole blocks. 32 rows are multiplied at a time, with the keys up to the last of them. Gradients of keys and values are summed
// for each part, transposed, and then over parts, in their order. Operands may be rounded, those of gradients coarsely; what shares a scale then is of
// one segment.
#pragma once

#include <math.h>
#include <stdatomic.h>
#include "packing.h"
#include "scratch.h"
#include "threads.h"
#include "vectors.h"

/** The first row of a segment, the number of its rows, and the index of its prefix, or −1. */
typedef struct {
  int64_t row, count, prefix;
} Segment;

enum {
  PART = 4 * BLOCK, // rows of a segment in a task
  SUMS_BYTES = 64 * 1024 * 1024 // of gradients that are not yet summed over parts, at most, if one head needs no more
};

/** The keys of one segment that rows attend to: a prefix, or, as the last one, their own segment. */
typedef struct {
  int64_t segment, count;
  int64_t block; // where they begin, in blocks
  int64_t position; // and how many keys are before them
} Stretch;

/** Some rows of a segment. */
typedef struct {
  int64_t segment, start, count;
  const Stretch *path; // the stretches of its prefixes, the first one first, and its own
  int64_t stretches;
  int64_t prefix_blocks, blocks; // of its keys: those of prefixes, and all
  int64_t sums; // where the sums for its keys begin, in blocks
} Part;

typedef struct {
  const float *query; // [rows, heads · size]
  Matrix key, value; // from their first row and head on
  int64_t head_stride; // from a head of keys or values to the next
  const float *gradient; // of the output
  float *output, *query_gradient, *key_gradient, *value_gradient;
  int64_t rows, heads, kv_heads, size;
  float scale;
  int rounded; // whether operands are
  const Segment *segments;
  int64_t segment_count;
  int64_t first_query; // the first row of each segment that has a query
  int64_t window; // how many keys a row attends to, its own included; 0 for all

  Stretch *paths; // of all segments, one after another
  Part *parts;
  int64_t part_count, sum_blocks; // and the blocks of all their keys
  int64_t *first_block; // of each segment, where its packed keys begin
  int64_t block_count, width; // blocks of all segments, and of the size of a head
  // Packed keys and values of all segments and heads as right operands, with keys as columns or as depth.
  Packed *key_columns, *value_columns, *key_depth, *value_depth;
  int64_t score_size, gradient_size; // of packed blocks of what scores and outputs are multiplied from, and of what gradients are
  int64_t first_head; // of those whose sums are in memory
  float *key_sums, *value_sums;
  atomic_int failed;
} Attention;

/** The least depth to which factors of gradients are packed, starting at multiples of it. */
static int64_t span_of_gradients(const Attention *a) { return a->rounded ? COARSE_SPAN : BLOCK; }

/** The place of a segment's keys or values among the packed ones. */
static int64_t packed_place(const Attention *a, int64_t kv_head, int64_t segment) {
  return (kv_head * a->block_count + a->first_block[segment]) * a->width * WHOLE_BLOCK;
}

static void pack_segment_task(void *data, size_t index) {
  const Attention *a = data;
  const int64_t segment = (int64_t)index / a->kv_heads, kv_head = (int64_t)index % a->kv_heads;
  const Segment *s = a->segments + segment;
  const int64_t place = packed_place(a, kv_head, segment);
  const Matrix key = part_of(a->key, s->row, kv_head * a->head_stride), value = part_of(a->value, s->row, kv_head * a->head_stride);
  pack_as_columns(key, s->count, a->size, 1, a->score_size, a->key_columns + place);
  if (a->output) {
    pack_as_depth(value, s->count, a->size, 1, a->score_size, a->value_depth + place);
    return;
  }
  pack_as_columns(value, s->count, a->size, 1, a->gradient_size, a->value_columns + place);
  pack_as_depth(key, s->count, a->size, 1, a->gradient_size, a->key_depth + place);
}

/** The blocks of a part's keys up to the key of this row, which is in its own segment. */
static int64_t blocks_up_to(const Part *part, int64_t row) { return part->prefix_blocks + row / BLOCK + 1; }

/** Multiplies a packed strip of `rows` rows with keys or values as columns: a row of the result has a number for each key in so many blocks. */
static void multiply_columns(const Attention *a, const Part *part, int64_t kv_head, const Packed *strip, const Packed *packed, int64_t size,
                             int64_t rows, int64_t blocks, float *into) {
  const int64_t stride = part->blocks * BLOCK;
  const Factors none = {0};
  const Stretch *stretch = part->path;
  for (int64_t block = 0; block < blocks; block++) {
    while (stretch + 1 < part->path + part->stretches && block >= stretch[1].block) stretch++;
    const Packed *panel = packed + packed_place(a, kv_head, stretch->segment) + (block - stretch->block) * a->width * size;
    multiply((Factors){strip, panel, a->size, size, size}, none, (Target){0, into + block * BLOCK, stride, rows, BLOCK});
  }
}

/**
 * Multiplies rows, which have a number for each key of a part's prefixes and for some of its own segment, by keys or values as depth.
 * @param strip memory for the rows as they are packed
 */
static void multiply_depth(const Attention *a, const Part *part, int64_t kv_head, const float *numbers, Packed *strip, const Packed *packed,
                           int64_t size, int64_t rows, int64_t own_keys, float *into) {
  const int64_t columns = part->blocks * BLOCK, last = part->stretches - 1;
  for (int64_t i = 0; i <= last; i++) {
    const Stretch *s = part->path + i;
    pack_rows(numbers + s->block * BLOCK, columns, rows, i < last ? s->count : own_keys, 1, size, strip + s->block * size);
  }
  for (int64_t panel = 0; panel < a->width; panel++) {
    float *place = into + panel * BLOCK;
    // Two at a time, so that a prompt and its completion need a single product.
    for (int64_t i = last % 2 - 1; i < last; i += 2) {
      const Factors none = {strip, packed, 0, size, size};
      Factors pair[2] = {none, none};
      for (int k = 0; k < 2; k++) {
        const Stretch *s = part->path + i + k;
        if (i + k < 0) continue;
        const int64_t all = ceiling((int64_t)a->segments[s->segment].count, BLOCK);
        pair[k] = (Factors){strip + s->block * size, packed + packed_place(a, kv_head, s->segment) + panel * all * size,
                            i + k < last ? s->count : own_keys, size, size};
      }
      multiply(pair[0], pair[1], (Target){i > 0 ? place : 0, place, a->heads * a->size, rows, least(BLOCK, a->size - panel * BLOCK)});
    }
  }
}

/** Which of the 16 columns from `column` on are keys that this row of the segment attends to. */
static inline Mask attended(const Attention *a, const Part *part, int64_t row, int64_t column) {
  const Stretch *own = part->path + part->stretches - 1, *stretch = own;
  while (stretch > part->path && column < stretch->block * BLOCK) stretch--;
  const int64_t key = column - stretch->block * BLOCK;
  const Mask keys = tail_mask((stretch == own ? row + 1 : stretch->count) - key);
  return a->window ? mask_andnot(keys, tail_mask(own->position + row + 1 - a->window - stretch->position - key)) : keys;
}

/** Replaces a row of scores by exponentials, 0 where it does not attend, and returns their sum. */
static float soften(const Attention *a, const Part *part, int64_t row, int64_t columns, float *scores) {
  Vector highest = broadcast(-INFINITY), sum = broadcast(0);
  for (int64_t column = 0; column < columns; column += 16)
    highest = blend(attended(a, part, row, column), maximum(highest, load(scores + column)), highest);
  const Vector shift = broadcast(hmax(highest));
  for (int64_t column = 0; column < columns; column += 16) {
    const Mask mask = attended(a, part, row, column);
    Vector weight = broadcast(0);
    if (!is_empty(mask)) weight = masked(mask, exponential(sub(load(scores + column), shift)));
    store(scores + column, weight);
    sum = add(sum, weight);
  }
  return hsum(sum);
}

/** Takes pieces of a task's memory. The first pass, without memory, only counts. */
static void *cut(char **memory, size_t *bytes, size_t size) {
  void *piece = *memory ? *memory + *bytes : 0;
  *bytes += (size + 63) / 64 * 64;
  return piece;
}

typedef struct {
  float *weights; // of a part's rows, for each key
  float *gradients; // of scores
  Packed *strip, *gradient_strip; // of queries, and of gradients of the output
  Packed *weight_strip; // of weights, or of gradients of scores
  Packed *queries, *outputs; // transposed: queries of a part, and gradients of its output
  Packed *panel;
} Buffers;

static size_t lay_out(Buffers *b, const Attention *a, const Part *part, char *memory) {
  const size_t block = WHOLE_BLOCK * sizeof(Packed), numbers = (size_t)part->blocks * BLOCK * sizeof(float);
  const size_t deep = ceiling(part->count, BLOCK);
  size_t bytes = 0;
  b->weights = cut(&memory, &bytes, numbers * (a->output ? BLOCK : part->count));
  b->strip = cut(&memory, &bytes, a->width * block);
  b->weight_strip = cut(&memory, &bytes, part->blocks * block);
  if (a->output) return bytes;
  b->gradients = cut(&memory, &bytes, numbers * part->count);
  b->gradient_strip = cut(&memory, &bytes, a->width * block);
  b->queries = cut(&memory, &bytes, a->width * deep * block);
  b->outputs = cut(&memory, &bytes, a->width * deep * block);
  b->panel = cut(&memory, &bytes, deep * block);
  return bytes;
}

/** Up to 32 rows of a part and one query head. */
static void attend(const Attention *a, const Part *part, int64_t head, int64_t row, int64_t rows, const Buffers *b) {
  const int64_t stride = a->heads * a->size, kv_head = head / (a->heads / a->kv_heads), columns = part->blocks * BLOCK;
  const int64_t last = row + rows - 1, blocks = blocks_up_to(part, last);
  const int64_t place = (a->segments[part->segment].row + row) * stride + head * a->size;
  float sums[BLOCK];
  pack_rows(a->query + place, stride, rows, a->size, a->scale, a->score_size, b->strip);
  multiply_columns(a, part, kv_head, b->strip, a->key_columns, a->score_size, rows, blocks, b->weights);
  for (int64_t i = 0; i < rows; i++) sums[i] = soften(a, part, row + i, blocks * BLOCK, b->weights + i * columns);
  multiply_depth(a, part, kv_head, b->weights, b->weight_strip, a->value_depth, a->score_size, rows, last + 1, a->output + place);
  for (int64_t i = 0; i < rows; i++) scale_row(a->output + place + i * stride, a->size, 1 / sums[i]);
}

/** A row's weights, from exponentials, and the gradients of its scores, from those of its weights. */
static void differentiate(int64_t columns, float sum, float scale, float *weights, float *gradients) {
  Vector along = broadcast(0);
  scale_row(weights, columns, 1 / sum);
  for (int64_t column = 0; column < columns; column += 16) {
    // Where weights are 0, gradients may hold anything.
    const Vector weight = load(weights + column), gradient = masked(ne(weight, broadcast(0)), load(gradients + column));
    along = fmadd(weight, gradient, along);
    store(gradients + column, gradient);
  }
  const Vector mean = broadcast(hsum(along));
  for (int64_t column = 0; column < columns; column += 16) {
    const Vector weight = mul(broadcast(scale), load(weights + column));
    store(gradients + column, mul(weight, sub(load(gradients + column), mean)));
  }
}

/** Up to 32 rows of a part and one query head: their weights, gradients of scores and of queries. */
static void attend_backward(const Attention *a, const Part *part, int64_t head, int64_t row, int64_t rows, const Buffers *b) {
  const int64_t stride = a->heads * a->size, kv_head = head / (a->heads / a->kv_heads), columns = part->blocks * BLOCK;
  const int64_t last = row + rows - 1, blocks = blocks_up_to(part, last), beyond = columns - blocks * BLOCK;
  const int64_t place = (a->segments[part->segment].row + row) * stride + head * a->size;
  float *weights = b->weights + (row - part->start) * columns, *gradients = b->gradients + (row - part->start) * columns;
  pack_rows(a->query + place, stride, rows, a->size, a->scale, a->score_size, b->strip);
  pack_rows(a->gradient + place, stride, rows, a->size, 1, a->gradient_size, b->gradient_strip);
  multiply_columns(a, part, kv_head, b->strip, a->key_columns, a->score_size, rows, blocks, weights);
  multiply_columns(a, part, kv_head, b->gradient_strip, a->value_columns, a->gradient_size, rows, blocks, gradients);
  for (int64_t i = 0; i < rows; i++) {
    const float sum = soften(a, part, row + i, blocks * BLOCK, weights + i * columns);
    differentiate(blocks * BLOCK, sum, a->scale, weights + i * columns, gradients + i * columns);
    if (!a->rounded) continue;
    // Numbers that share a scale with needed ones must be there.
    memset(weights + i * columns + blocks * BLOCK, 0, beyond * sizeof *weights);
    memset(gradients + i * columns + blocks * BLOCK, 0, beyond * sizeof *gradients);
  }
  const int64_t span = span_of_gradients(a), keys = least((int64_t)a->segments[part->segment].count, ceiling(last + 1, span) * span);
  multiply_depth(a, part, kv_head, gradients, b->weight_strip, a->key_depth, a->gradient_size, rows, keys, a->query_gradient + place);
}

/** Adds a product with a part's queries or with gradients of its output, transposed: [size of a head, keys]. Rows before a block of keys have none. */
static void add_sums(const Attention *a, const Part *part, const Packed *transposed, const float *numbers, Packed *panel, int first, float *sums) {
  const int64_t columns = part->blocks * BLOCK, deep = ceiling(part->count, BLOCK), size = a->gradient_size, span = span_of_gradients(a);
  const Factors none = {0};
  for (int64_t column = 0; column < columns; column += BLOCK) {
    const int64_t key = column - part->prefix_blocks * BLOCK, before = key > part->start ? (key - part->start) / span * span : 0;
    const int64_t count = part->count - before;
    pack_as_depth(floats(numbers + before * columns + column, columns), count, BLOCK, 1, size, panel);
    for (int64_t strip = 0; strip < a->width; strip++) {
      float *into = sums + strip * BLOCK * columns + column;
      multiply((Factors){transposed + (strip * deep + before / BLOCK) * size, panel, count, size, size}, none,
               (Target){first ? 0 : into, into, columns, least(BLOCK, a->size - strip * BLOCK), BLOCK});
    }
  }
}

static void attention_task(void *data, size_t index) {
  Attention *a = data;
  const int64_t queries_per_kv = a->heads / a->kv_heads;
  const Part *part = a->parts + (int64_t)index % a->part_count;
  const int64_t kv_head = a->first_head + (int64_t)index / a->part_count;
  Buffers b;
  const Scratch scratch = borrow(lay_out(&b, a, part, 0));
  if (!scratch.memory) {
    a->failed = 1;
    return;
  }
  lay_out(&b, a, part, scratch.memory);
  start_unit();
  const int64_t last = part->start + part->count, stride = a->heads * a->size;
  for (int64_t head = kv_head * queries_per_kv; head < (kv_head + 1) * queries_per_kv; head++) {
    for (int64_t row = part->start; row < last; row += BLOCK)
      (a->output ? attend : attend_backward)(a, part, head, row, least(BLOCK, last - row), &b);
    if (a->output) continue;
    const int64_t place = (a->segments[part->segment].row + part->start) * stride + head * a->size;
    const int64_t sums = ((kv_head - a->first_head) * a->sum_blocks + part->sums) * BLOCK * a->size;
    const int first = head == kv_head * queries_per_kv;
    pack_columns(a->query + place, stride, part->count, a->size, 1, a->gradient_size, b.queries);
    pack_columns(a->gradient + place, stride, part->count, a->size, 1, a->gradient_size, b.outputs);
    add_sums(a, part, b.queries, b.gradients, b.panel, first, a->key_sums + sums);
    add_sums(a, part, b.outputs, b.weights, b.panel, first, a->value_sums + sums);
  }
  stop_unit();
  give_back(scratch);
}

/** Adds sums for a segment's keys, 16 numbers of each: [16, columns], of which there are `size`, to rows of a gradient. */
static void add_transposed(const float *sums, int64_t columns, int64_t size, int64_t keys, float *into, int64_t stride) {
  for (int64_t key = 0; key < keys; key += 16) {
    Ints rows[16];
    for (int64_t i = 0; i < 16; i++) rows[i] = i < size ? as_ints(load(sums + i * columns + key)) : broadcast_ints(0);
    transpose(rows);
    for (int64_t i = 0; i < least(16, keys - key); i++) {
      float *place = into + (key + i) * stride;
      store_first(size, place, add(load_first(size, place), as_floats(rows[i])));
    }
  }
}

/** Sums gradients of keys or values over parts: 16 numbers of each row. */
static void sum_task(void *data, size_t index) {
  const Attention *a = data;
  const int64_t pieces = ceiling(a->size, 16), head = a->first_head + (int64_t)index / 2 / pieces, stride = a->kv_heads * a->size;
  const int64_t first = (int64_t)index / 2 % pieces * 16, size = least(16, a->size - first);
  float *gradient = (index % 2 ? a->value_gradient : a->key_gradient) + head * a->size + first;
  const float *sums_of_head = (index % 2 ? a->value_sums : a->key_sums) + (head - a->first_head) * a->sum_blocks * BLOCK * a->size;
  for (int64_t row = 0; row < a->rows; row++) memset(gradient + row * stride, 0, size * sizeof *gradient);
  for (const Part *part = a->parts; part < a->parts + a->part_count; part++) {
    const int64_t columns = part->blocks * BLOCK;
    const float *sums = sums_of_head + part->sums * BLOCK * a->size + first * columns;
    for (const Stretch *s = part->path; s < part->path + part->stretches; s++) {
      const int64_t keys = s->segment == part->segment ? part->start + part->count : s->count;
      add_transposed(sums + s->block * BLOCK, columns, size, keys, gradient + a->segments[s->segment].row * stride, stride);
    }
  }
}

/** Writes the paths of all segments, one after another, unless `paths` is null. Returns the number of their stretches. */
static int64_t lay_paths(const Attention *a, Stretch *paths) {
  int64_t count = 0;
  for (int64_t segment = 0; segment < a->segment_count; segment++) {
    int64_t deep = 0, block = 0, position = 0;
    for (int64_t i = segment; i >= 0; i = (int64_t)a->segments[i].prefix) deep++;
    count += deep;
    if (!paths) continue;
    for (int64_t i = segment, at = count; i >= 0; i = (int64_t)a->segments[i].prefix) paths[--at] = (Stretch){i, (int64_t)a->segments[i].count, 0, 0};
    for (Stretch *s = paths + count - deep; s < paths + count; s++) {
      s->block = block;
      s->position = position;
      block += ceiling(s->count, BLOCK);
      position += s->count;
    }
  }
  return count;
}

/** Divides segments into parts. `parts` may be null, to count them. */
static int64_t divide_work(const Attention *a, Part *parts) {
  int64_t count = 0, sums = 0;
  const Stretch *path = a->paths;
  for (int64_t segment = 0; segment < a->segment_count; segment++) {
    const Segment *s = a->segments + segment;
    const Stretch *own = path;
    while (own->segment != segment) own++;
    for (int64_t start = a->first_query; start < s->count; start += PART, count++) {
      const int64_t rows = least(PART, s->count - start), blocks = own->block + ceiling(start + rows, BLOCK);
      if (parts) parts[count] = (Part){segment, start, rows, path, own + 1 - path, own->block, blocks, sums};
      sums += blocks;
    }
    path = own + 1;
  }
  return count;
}

/** Whether segments lie within the rows, and each comes after its prefix. */
static int segments_fit(const Attention *a) {
  for (int64_t i = 0; i < a->segment_count; i++) {
    const Segment *s = a->segments + i;
    if (s->row < 0 || s->count < 0 || s->row > a->rows || s->count > a->rows - s->row) return 0;
    if (s->prefix >= i) return 0;
  }
  return 1;
}

static int64_t covered(const Attention *a) {
  int64_t rows = 0;
  for (int64_t i = 0; i < a->segment_count; i++) rows += a->segments[i].count;
  return rows;
}

/** Sums of gradients exist for some heads at a time. */
static OrtStatus *differentiate_heads(Attention *a, OrtKernelContext *context) {
  const size_t bytes = a->sum_blocks * BLOCK * a->size * sizeof(float);
  const int64_t fitting = SUMS_BYTES / (int64_t)(2 * bytes + 1), together = least(a->kv_heads, fitting > 0 ? fitting : 1);
  const Scratch sums = borrow(2 * together * bytes);
  OrtStatus *status = 0;
  if (!sums.memory) return out_of_memory();
  a->key_sums = sums.memory;
  a->value_sums = a->key_sums + together * a->sum_blocks * BLOCK * a->size;
  for (a->first_head = 0; a->first_head < a->kv_heads && !status; a->first_head += together) {
    const int64_t heads = least(together, a->kv_heads - a->first_head);
    status = in_parallel(context, attention_task, heads * a->part_count, a);
    if (!status && a->failed) status = out_of_memory();
    if (!status) status = in_parallel(context, sum_task, heads * 2 * ceiling(a->size, 16), a);
  }
  give_back(sums);
  return status;
}

/** Computes attention along paths that are laid out. */
static OrtStatus *attend_along(Attention *a, OrtKernelContext *context) {
  a->part_count = divide_work(a, 0);
  if (a->part_count == 0) return 0;
  a->width = ceiling(a->size, BLOCK);
  a->score_size = left_size(a->rounded ? ROUNDED : NOT_ROUNDED);
  a->gradient_size = left_size(a->rounded ? ROUNDED_COARSELY : NOT_ROUNDED);
  a->parts = malloc(a->part_count * sizeof *a->parts);
  a->first_block = malloc(a->segment_count * sizeof *a->first_block);
  Scratch packed = {0, 0};
  OrtStatus *status = a->parts && a->first_block ? 0 : out_of_memory();
  if (!status) {
    divide_work(a, a->parts);
    const Part *last = a->parts + a->part_count - 1;
    a->sum_blocks = last->sums + last->blocks;
    for (int64_t i = 0; i < a->segment_count; i++) {
      a->first_block[i] = a->block_count;
      a->block_count += ceiling(a->segments[i].count, BLOCK);
    }
    const int64_t numbers = a->kv_heads * a->block_count * a->width * WHOLE_BLOCK;
    packed = borrow((a->output ? 2 : 3) * numbers * sizeof(Packed));
    if (!packed.memory) status = out_of_memory();
    a->key_columns = packed.memory;
    a->value_depth = a->value_columns = a->key_columns + numbers;
    a->key_depth = a->value_columns + numbers;
  }
  if (!status) status = in_parallel(context, pack_segment_task, a->segment_count * a->kv_heads, a);
  if (!status) status = a->output ? in_parallel(context, attention_task, a->kv_heads * a->part_count, a) : differentiate_heads(a, context);
  if (!status && a->failed) status = out_of_memory();
  if (packed.memory) give_back(packed);
  free(a->parts);
  free(a->first_block);
  return status;
}

/** Computes the output, or, where there is none, the gradients. */
static OrtStatus *compute_attention(Attention *a, OrtKernelContext *context) {
  const size_t query_bytes = a->rows * a->heads * a->size * sizeof(float);
  if (covered(a) < a->rows) memset(a->output ? a->output : a->query_gradient, 0, query_bytes);
  a->paths = malloc(lay_paths(a, 0) * sizeof *a->paths);
  if (!a->paths) return a->segment_count > 0 ? out_of_memory() : 0;
  lay_paths(a, a->paths);
  OrtStatus *status = attend_along(a, context);
  free(a->paths);
  return status;
}
