// Rotates the heads of queries and keys to the positions of their rows.

import type { RotaryTables } from '../tensor/attention-inputs.ts';
import type { Tensor } from '../tensor/graph.ts';
import { concat, dimensionAt, reshape, rotary, slice } from '../tensor/ops.ts';
import type { Dimension } from '../tensor/shape.ts';
import type { ModelConfig } from './model-config.ts';

/**
 * @param positions int64 [rows, 1]
 * @param tables the tables of each layer
 */
export function rotation(
  positions: Tensor,
  tables: (layer: number) => RotaryTables,
  { rows, size }: { rows: Dimension; size: number },
) {
  // Each row is passed as a sequence of one token, since ONNX Runtime refuses sequences that are longer than the tables.
  return (x: Tensor, heads: number, layer: number) =>
    reshape(rotary(reshape(x, [rows, 1, heads * size]), positions, tables(layer), heads), [rows, heads * size]);
}

/**
 * Reorders the numbers of each head of a query or key, which leaves their products unchanged. Only the first r rotate, and their pairs are r/2 apart;
 * attention rotates whole heads, whose pairs are half a head apart, and leaves those after the first r/2 unturned.
 */
export function pairedApart(
  x: Tensor,
  heads: number,
  { headSize, rope }: Pick<ModelConfig, 'headSize' | 'rope'>,
): Tensor {
  const rotated = rope.rotated ?? headSize;
  if (rotated === headSize) return x;
  const perHead = reshape(x, [dimensionAt(x, 0), heads, headSize]);
  const [middle, still] = [rotated / 2, (headSize - rotated) / 2];
  const part = (start: number, end: number) => slice(perHead, 2, start, end);
  const parts = [
    part(0, middle),
    part(rotated, rotated + still),
    part(middle, rotated),
    part(rotated + still, headSize),
  ];
  return reshape(concat(parts as [Tensor, ...Tensor[]], 2), x.shape);
}
