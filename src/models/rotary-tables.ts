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

interface NamedTables {
  readonly cos: string;
  readonly sin: string;
  readonly rope: RopeSettings;
}

/** The tables of most layers, and those of layers with a sliding window if they have their own. */
function namedTables({ rope, sliding }: ModelConfig): { most: NamedTables; sliding: NamedTables | undefined } {
  const own = sliding?.rope && { cos: 'rotary.sliding.cos', sin: 'rotary.sliding.sin', rope: sliding.rope };
  return { most: { cos: 'rotary.cos', sin: 'rotary.sin', rope }, sliding: own };
}

/** Graph inputs for both tables of a layer, each [positions, headSize / 2]. */
export function rotaryInputs(config: ModelConfig, positions: number): (layer: number) => RotaryTables {
  const table = (name: string): Tensor => input(name, 'float32', [positions, config.headSize / 2]);
  const tables = ({ cos, sin }: NamedTables) => ({ cos: table(cos), sin: table(sin) });
  const names = namedTables(config);
  const [most, sliding] = [tables(names.most), names.sliding && tables(names.sliding)];
  return (layer) => (config.sliding?.layers[layer] && sliding ? sliding : most);
}

/** The values of all tables, by the names of the inputs, in row-major order. Angles are first rounded to float32, as PyTorch's are. */
export function rotaryValues(config: ModelConfig, positions: number): Map<string, Float32Array> {
  const { most, sliding } = namedTables(config);
  return new Map(
    [most, ...(sliding ? [sliding] : [])].flatMap(({ cos, sin, rope }) => {
      const values = tableValues(rope, config.headSize, positions);
      return [
        [cos, values.cos],
        [sin, values.sin],
      ] as const;
    }),
  );
}

function tableValues({ theta, scaling }: RopeSettings, headSize: number, positions: number) {
  const half = headSize / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let lane = 0; lane < half; lane++) {
    const frequency = Math.fround(scaled(1 / theta ** ((2 * lane) / headSize), scaling));
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
