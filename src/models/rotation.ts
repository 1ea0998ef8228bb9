// Rotates the heads of queries and keys to the positions of their rows.

import type { RotaryTables } from '../tensor/attention-inputs.ts';
import type { Tensor } from '../tensor/graph.ts';
import { reshape, rotary } from '../tensor/ops.ts';
import type { Dimension } from '../tensor/shape.ts';

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
