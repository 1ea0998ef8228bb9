// Attention for training as one custom operator: the same as prefix-attention.ts builds from many, for rows without padding.
import { input, type RotaryTables, segmentAttention } from '../tensor/ops.ts';
import { size } from '../tensor/shape.ts';
import type { Attention, ModelConfig } from './layers.ts';
import { rotation } from './rotation.ts';

/** The rows of all activations: the tokens of prompts, then those of completions. */
export const SEGMENT_ROWS = size('R');

/**
 * Graph inputs: `positions` int64 [R, 1], each row's position in its own sequence, and `segments` int64 [S, 3], prompts and the completions
 * that continue them: see `Operators.segmentAttention`.
 */
export function segmentedAttention({ heads, keyValueHeads, headSize }: ModelConfig, tables: RotaryTables): Attention {
  const positions = input('positions', 'int64', [SEGMENT_ROWS, 1]);
  const segments = input('segments', 'int64', [size('S'), 3]);
  const rotated = rotation(positions, tables, { rows: SEGMENT_ROWS, size: headSize });
  const attributes = { heads, keyValueHeads, scale: 1 / Math.sqrt(headSize) };
  return (_, query, key, value) =>
    segmentAttention({ query: rotated(query, heads), key: rotated(key, keyValueHeads), value, segments }, attributes);
}
