// What the operator provides to those who divide its work.
#pragma once

#include <stddef.h>

/** Calls `task` with 0 to `count` − 1, from several threads. Returns a status, which is null on success. */
static void *in_parallel(void *context, void (*task)(void *data, size_t index), long count, void *data);
static void *out_of_memory(void);
