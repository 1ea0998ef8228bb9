// Exported functions and aligned memory, whose names differ on Windows.
#pragma once

#include <stdlib.h>

#ifdef _WIN32
#include <malloc.h>
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/** Memory that begins where a vector may, or null. `release` frees it. */
static inline void *allocate(size_t wanted) {
  const size_t bytes = (wanted + 63) / 64 * 64; // allocation takes multiples of its alignment
#ifdef _WIN32
  return _aligned_malloc(bytes, 64);
#else
  return aligned_alloc(64, bytes);
#endif
}

static inline void release(void *memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  free(memory);
#endif
}
