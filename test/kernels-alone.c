// Products of kernels/ without Node and ONNX Runtime, against sums in double precision, and a compiled library that this system loads: for systems on which only
// small programs can be tried here. Its arguments are such libraries.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#define open_library(path) LoadLibraryA(path)
#define find_symbol(library, name) ((void *)GetProcAddress(library, name))
#else
#include <dlfcn.h>
#define open_library(path) dlopen(path, RTLD_NOW)
#define find_symbol(library, name) dlsym(library, name)
#endif
#include "../kernels/threads.h"

static OrtStatus *in_parallel(OrtKernelContext *context, void (*task)(void *data, size_t index), int64_t count, void *data) {
  for (int64_t i = 0; i < count; i++) task(data, i);
  return 0;
}
static OrtStatus *out_of_memory(void) { abort(); }

#include "../kernels/processor.h"
#include "../kernels/tasks.h"

static float *random_numbers(int64_t count) {
  static uint32_t state = 1;
  float *numbers = malloc(count * sizeof *numbers);
  for (int64_t i = 0; i < count; i++) numbers[i] = (float)((state = state * 1664525 + 1013904223) >> 8) / (1 << 23) - 1;
  return numbers;
}

/** The root of the mean squared error, relative to that of the exact product. */
static double error_of(int64_t rows, int64_t depth, int64_t columns, int transposed, Rounding rounding) {
  float *left = random_numbers(rows * depth), *right = random_numbers(depth * columns), *result = random_numbers(rows * columns);
  const Matrix matrix = floats(right, transposed ? depth : columns);
  const Product p = {.left = left,
                     .right = matrix,
                     .result = result,
                     .rows = rows,
                     .columns = columns,
                     .depth = depth,
                     .right_transposed = transposed,
                     .alpha = 1,
                     .rounding = rounding};
  compute_product(&p, 0);
  double squares = 0, errors = 0;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) {
      double exact = 0;
      for (int64_t k = 0; k < depth; k++) exact += (double)left[row * depth + k] * right[transposed ? column * depth + k : k * columns + column];
      const double difference = exact - result[row * columns + column];
      squares += exact * exact, errors += difference * difference;
    }
  free(left), free(right), free(result);
  return sqrt(errors / squares);
}

int main(int count, char **paths) {
  int failed = 0;
  for (int i = 1; i < count; i++) {
    void *library = (void *)open_library(paths[i]);
    int (*request)(void) = library ? (int (*)(void))find_symbol(library, "gradus_request_unit") : 0;
    const int loads = request && find_symbol(library, "RegisterCustomOps");
    printf("%s: %s\n", paths[i],
           !loads           ? "cannot be loaded"
           : request() == 0 ? "loaded, and the processor fits"
                            : "loaded, the processor lacks what it needs");
    failed |= !loads;
  }
  if (!processor_fits()) return puts("products: the processor lacks what they need"), failed;
  static const int64_t shapes[][3] = {{256, 128, 256}, {129, 160, 192}, {133, 1541, 131}, {7, 300, 200}};
  for (int i = 0; i < 4; i++)
    for (int transposed = 0; transposed < 2; transposed++)
      for (Rounding rounding = NOT_ROUNDED; rounding <= ROUNDED; rounding++) {
        const double error = error_of(shapes[i][0], shapes[i][1], shapes[i][2], transposed, rounding);
        const int fits = error < (rounding == ROUNDED ? 5e-3 : 8e-6);
        printf("%d × %d · %d × %d%s%s: %.1e%s\n", (int)shapes[i][0], (int)shapes[i][1], (int)shapes[i][1], (int)shapes[i][2],
               transposed ? ", transposed" : "", rounding == ROUNDED ? ", rounded" : "", error, fits ? "" : ", which is too much");
        failed |= !fits;
      }
  return failed;
}
