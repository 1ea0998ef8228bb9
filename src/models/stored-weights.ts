// Frozen weights that stay in memory in the format of the model's file, if our custom operators can read it.
import type { StorageFormat, Tensor } from '../tensor/graph.ts';
import { readsStored } from '../tensor/onnx-matmul.ts';
import { input, stored } from '../tensor/ops.ts';
import type { Shape } from '../tensor/shape.ts';
import type { ParameterSpec } from './model-config.ts';

/** The format in which a frozen parameter is kept in memory; undefined for float32. */
export function formatInMemory({ shape, stored }: ParameterSpec, customOperators: boolean): StorageFormat | undefined {
  return customOperators && stored && readsStored(shape, stored) ? stored : undefined;
}

/** The shape of a stored matrix, in bytes. */
export function storedShape([rows, inner]: readonly [number, number], { blockBytes, blockElements }: StorageFormat) {
  return [rows, (inner / blockElements) * blockBytes] as const;
}

/** A graph input with the bytes of a matrix, decoded to its numbers. */
export function storedInput(name: string, [rows, inner]: Shape, format: StorageFormat): Tensor {
  return stored(input(name, 'uint8', storedShape([rows as number, inner as number], format)), format);
}
