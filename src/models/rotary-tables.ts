// The cosines and sines that rotary embeddings look up: Su et al. 2021, arXiv:2104.09864.
import type { Tensor } from '../tensor/graph.ts';
import { input, type RotaryTables } from '../tensor/ops.ts';
import type { ModelConfig } from './layers.ts';

export const ROTARY_COS = 'rotary.cos';
export const ROTARY_SIN = 'rotary.sin';

/** Graph inputs for the tables of `positions` positions, [positions, headSize / 2] each. */
export function rotaryInputs(config: ModelConfig, positions: number): RotaryTables {
  const table = (name: string): Tensor => input(name, 'float32', [positions, config.headSize / 2]);
  return { cos: table(ROTARY_COS), sin: table(ROTARY_SIN) };
}

/** The values of those tables, row by row. Angles are rounded to float32 first, as PyTorch's are. */
export function rotaryValues(config: ModelConfig, positions: number): { cos: Float32Array; sin: Float32Array } {
  const half = config.headSize / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let lane = 0; lane < half; lane++) {
    const frequency = Math.fround(1 / config.ropeTheta ** ((2 * lane) / config.headSize));
    for (let position = 0; position < positions; position++) {
      const angle = Math.fround(position * frequency);
      cos[position * half + lane] = Math.cos(angle);
      sin[position * half + lane] = Math.sin(angle);
    }
  }
  return { cos, sin };
}
