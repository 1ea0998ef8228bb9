// Working memory.
#pragma once

#include <pthread.h>
#include <stdlib.h>

/** Memory is kept for the next product: touching new pages would take as long as packing. */
typedef struct { size_t bytes; void *memory; } Scratch;
enum { KEPT = 64 };
static Scratch kept[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/** Returns memory of at least that size: the smallest that is kept and fits, or new memory. `memory` is null if there is none. */
static Scratch borrow(size_t wanted) {
  const size_t bytes = wanted / 64 * 64 + 64; // allocation takes multiples of its alignment
  Scratch found = {0, 0};
  pthread_mutex_lock(&lock);
  Scratch *best = 0;
  for (Scratch *slot = kept; slot < kept + KEPT; slot++)
    if (slot->memory && slot->bytes >= bytes && (!best || slot->bytes < best->bytes)) best = slot;
  if (!best) {
    // Something larger takes the place of the largest that is too small.
    for (Scratch *slot = kept; slot < kept + KEPT; slot++)
      if (slot->memory && (!best || slot->bytes > best->bytes)) best = slot;
    if (best) free(best->memory), best->memory = 0;
    best = 0;
  }
  if (best) found = *best, best->memory = 0;
  pthread_mutex_unlock(&lock);
  if (!found.memory) found = (Scratch){bytes, aligned_alloc(64, bytes)};
  return found;
}

static void give_back(Scratch scratch) {
  pthread_mutex_lock(&lock);
  Scratch *slot = kept;
  while (slot < kept + KEPT && slot->memory) slot++;
  if (slot < kept + KEPT) *slot = scratch, scratch.memory = 0;
  pthread_mutex_unlock(&lock);
  free(scratch.memory);
}
