// Tables of cosines and sines for rotary embeddings (Su et al. 2021, arXiv:2104.09864).
import type { Tensor } from '../tensor/graph.ts';
import { input, type RotaryTables } from '../tensor/ops.ts';
import type { ModelConfig } from './layers.ts';

export interface RopeSettings {
  /** The base of the frequencies: lane i rotates by theta^(−2i / head size) radians per position. */
  readonly theta: number;
  /** How Llama 3.1 slows down the lowest frequencies for longer contexts. @default not at all */
  readonly scaling?: {
    readonly factor: number;
    readonly lowFrequencyFactor: number;
    readonly highFrequencyFactor: number;
    /** The context length before the extension, in tokens. */
    readonly originalContextLength: number;
  };
}

export const ROTARY_COS = 'rotary.cos';
export const ROTARY_SIN = 'rotary.sin';

/** Graph inputs for both tables, each [positions, headSize / 2]. */
export function rotaryInputs(config: ModelConfig, positions: number): RotaryTables {
  const table = (name: string): Tensor => input(name, 'float32', [positions, config.headSize / 2]);
  return { cos: table(ROTARY_COS), sin: table(ROTARY_SIN) };
}

/** The values of both tables in row-major order. Angles are first rounded to float32, as PyTorch's are. */
export function rotaryValues(config: ModelConfig, positions: number): { cos: Float32Array; sin: Float32Array } {
  const half = config.headSize / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let lane = 0; lane < half; lane++) {
    const frequency = Math.fround(scaled(1 / config.rope.theta ** ((2 * lane) / config.headSize), config.rope.scaling));
    for (let position = 0; position < positions; position++) {
      const angle = Math.fround(position * frequency);
      cos[position * half + lane] = Math.cos(angle);
      sin[position * half + lane] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

/**
 * Llama 3.1's scaling (Llama Team 2024, arXiv:2407.21783, and its code): frequencies with many turns in the original context are kept,
 * those with few are divided by the factor, and those in between are interpolated.
 */
function scaled(frequency: number, scaling: RopeSettings['scaling']): number {
  if (!scaling) return frequency;
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = scaling;
  const turns = (originalContextLength * frequency) / (2 * Math.PI);
  const kept = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  const share = Math.min(1, Math.max(0, kept));
  return share * frequency + ((1 - share) * frequency) / factor;
}
