// Frozen weights that stay in memory as the model's file has them, where our own operators read that.
import type { StorageFormat, Tensor } from '../tensor/graph.ts';
import { readsStored } from '../tensor/onnx-matmul.ts';
import { input, stored } from '../tensor/ops.ts';
import type { Shape } from '../tensor/shape.ts';
import type { ParameterSpec } from './layers.ts';

/** The format in which a frozen parameter is in memory; undefined for float32. @param ownOperators whether our own operators compute */
export function formatInMemory({ shape, stored }: ParameterSpec, ownOperators: boolean): StorageFormat | undefined {
  return ownOperators && stored && readsStored(shape, stored) ? stored : undefined;
}

/** The shape of a matrix's bytes. */
export function storedShape([rows, inner]: readonly [number, number], { blockBytes, blockElements }: StorageFormat) {
  return [rows, (inner / blockElements) * blockBytes] as const;
}

/** The graph input with the bytes of a matrix, as its numbers. */
export function storedInput(name: string, [rows, inner]: Shape, format: StorageFormat): Tensor {
  return stored(input(name, 'uint8', storedShape([rows as number, inner as number], format)), format);
}
