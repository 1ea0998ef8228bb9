// What the operator provides to those who divide its work.
#pragma once

#include <stddef.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtKernelContext OrtKernelContext;

/** Calls `task` with 0 to `count` − 1, from several threads. Returns a status, which is null on success. */
static OrtStatus *in_parallel(OrtKernelContext *context, void (*task)(void *data, size_t index), int64_t count, void *data);
static OrtStatus *out_of_memory(void);
