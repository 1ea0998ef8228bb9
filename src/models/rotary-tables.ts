// The cosines and sines that rotary embeddings look up: Su et al. 2021, arXiv:2104.09864.
import type { Tensor } from '../tensor/graph.ts';
import { input, type RotaryTables } from '../tensor/ops.ts';
import type { ModelConfig } from './layers.ts';

export interface RopeSettings {
  /** The base of the frequencies: lane i turns by theta^(−2i / head size) a position. */
  readonly theta: number;
  /** How Llama 3.1 stretches the slow lanes to longer contexts. @default as they are */
  readonly scaling?: {
    readonly factor: number;
    readonly lowFrequencyFactor: number;
    readonly highFrequencyFactor: number;
    /** The context, in tokens, before it was stretched. */
    readonly originalContextLength: number;
  };
}

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
 * Lanes that turn often within the original context stay, those that turn seldom slow down by the factor, those between lie between:
 * Llama Team 2024, arXiv:2407.21783, and the code that came with it.
 */
function scaled(frequency: number, scaling: RopeSettings['scaling']): number {
  if (!scaling) return frequency;
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = scaling;
  const turns = (originalContextLength * frequency) / (2 * Math.PI);
  const kept = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  const share = Math.min(1, Math.max(0, kept));
  return share * frequency + ((1 - share) * frequency) / factor;
}
