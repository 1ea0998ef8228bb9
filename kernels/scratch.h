// Working memory.
#pragma once

#include <stdatomic.h>
#include "platform.h"

/** Memory is kept for the next product, because touching new pages takes as long as packing. */
typedef struct {
  size_t bytes;
  void *memory;
} Scratch;
enum { KEPT = 64 };
static Scratch kept[KEPT];
static atomic_flag locked = ATOMIC_FLAG_INIT;

/** Threads spin while they wait for each other, because each only looks at some slots. */
static void lock(void) {
  while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire)) {}
}
static void unlock(void) { atomic_flag_clear_explicit(&locked, memory_order_release); }

/** Returns memory of at least that size: the smallest that is kept and fits, or new memory. `memory` is null if there is none. */
static Scratch borrow(size_t wanted) {
  const size_t bytes = wanted / 64 * 64 + 64;
  Scratch found = {0, 0}, outgrown = {0, 0};
  lock();
  Scratch *best = 0;
  for (Scratch *slot = kept; slot < kept + KEPT; slot++)
    if (slot->memory && slot->bytes >= bytes && (!best || slot->bytes < best->bytes)) best = slot;
  if (!best) {
    // A larger piece replaces the largest that is too small.
    for (Scratch *slot = kept; slot < kept + KEPT; slot++)
      if (slot->memory && (!best || slot->bytes > best->bytes)) best = slot;
    if (best) outgrown = *best, best->memory = 0;
    best = 0;
  }
  if (best) found = *best, best->memory = 0;
  unlock();
  release(outgrown.memory);
  if (!found.memory) found = (Scratch){bytes, allocate(bytes)};
  return found;
}

static void give_back(Scratch scratch) {
  lock();
  Scratch *slot = kept;
  while (slot < kept + KEPT && slot->memory) slot++;
  if (slot < kept + KEPT) *slot = scratch, scratch.memory = 0;
  unlock();
  release(scratch.memory);
}
