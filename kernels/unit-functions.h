// What each unit of the processor that multiplies has.
//
// A unit packs blocks of operands in the order in which it reads them (`pack`), and multiplies them (`multiply`).
#pragma once

#include "product.h"
#include "vectors.h"

/** A block of the result. */
typedef struct {
  const float *base; // what products are added to, or null
  float *into;
  int64_t stride, rows, columns;
  int batch_invariant; // see Product
} Target;

/**
 * A strip of the left operand and a panel of the right one, so deep, and the sizes of their blocks. If one is rounded, so is the other.
 */
typedef struct {
  const Packed *left, *right;
  int64_t depth, left_size, right_size;
} Factors;

/** Before and after a thread uses `multiply`. */
static void start_unit(void);
static void stop_unit(void);

/**
 * Packs blocks of an operand, up to SPAN numbers deep, one after another.
 * @param stride of the operand in memory
 * @param along whether neighbours in memory are neighbours in depth
 * @param is_right whether the operand is the right one
 * @param size of a packed block: WHOLE_BLOCK; HIGH_BLOCK, which rounds to bfloat16; ROUNDED_BLOCK or COARSE_BLOCK
 * @param width rows of a left operand or columns of a right one, from here to the end. What has no place in the result may hold anything
 * @param depth from here to the end
 */
static inline void pack(const float *from, int64_t stride, int along, int is_right, int64_t size, int64_t width, int64_t depth, float factor,
                        Packed *into);

/** Numbers of 16 columns of a packed block of a right operand at two places in depth, `2 * pair` and the next. */
static inline void read_pair(const Packed *block, int64_t size, int64_t half, int64_t pair, Vector into[2]);

/** Computes a block of the result: the base and two products, the second of which may be empty. */
static void multiply(Factors first, Factors second, Target t);

// A unit's file also defines the depth that it packs at once (SPAN), the sizes of packed blocks of operands that it rounds to multiply them faster
// (ROUNDED_BLOCK, COARSE_BLOCK), and the depth that shares a scale in the latter (COARSE_SPAN).
