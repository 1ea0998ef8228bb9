// How fast rotary embeddings turn, and how their frequencies are scaled for contexts longer than those of the first training.

/** Reads the fields of a scaling. Each method throws if its field is missing without a default, or not of the expected type. */
interface FieldReader {
  number(field: string, fallback?: number): number;
  positive(field: string, fallback?: number): number;
  integer(field: string, fallback?: number): number;
  boolean(field: string, fallback: boolean): boolean;
}

export interface RopeSettings {
  /** The base of the frequencies: lane i rotates by theta^(−2i / head size) radians per position. */
  readonly theta: number;
  /** How many numbers of a head rotate, the first ones. They count as the head's size. @default all */
  readonly rotated?: number;
  /** @default none */
  readonly scaling?: RopeScaling;
}

export type RopeScaling = LinearScaling | Llama3Scaling | YarnScaling;

/** Linear scaling, which divides all frequencies by the factor: Chen et al. 2023, arXiv:2306.15595. */
interface LinearScaling {
  readonly type: 'linear';
  readonly factor: number;
}

/**
 * Llama 3.1's scaling (Llama Team 2024, arXiv:2407.21783, and its code): frequencies with many turns in the original context are kept,
 * frequencies with few turns are divided by the factor, and those in between are interpolated.
 */
interface Llama3Scaling {
  readonly type: 'llama3';
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  /** The context length before the extension, in tokens. */
  readonly originalContextLength: number;
}

/** YaRN (Peng et al. 2023, arXiv:2309.00071): scaling as in Llama 3.1, but interpolated by lanes, and with sharper attention. */
interface YarnScaling {
  readonly type: 'yarn';
  readonly factor: number;
  /** Lanes with more turns than this in the original context are kept. */
  readonly betaFast: number;
  /** Lanes with fewer turns than this are divided by the factor. */
  readonly betaSlow: number;
  readonly originalContextLength: number;
  /** The factor of all cosines and sines. */
  readonly attentionFactor: number;
  /** Whether the bounds between lanes are whole numbers. */
  readonly truncate: boolean;
}

const readers = {
  linear: (read) => ({ type: 'linear', factor: read.positive('factor') }),
  llama3: (read, contextLength) => ({
    type: 'llama3',
    factor: read.positive('factor'),
    lowFrequencyFactor: read.number('low_freq_factor'),
    highFrequencyFactor: read.number('high_freq_factor'),
    originalContextLength: read.integer('original_max_position_embeddings', contextLength),
  }),
  yarn: (read, contextLength) => {
    const factor = read.positive('factor');
    return {
      type: 'yarn',
      factor,
      betaFast: read.positive('beta_fast', 32),
      betaSlow: read.positive('beta_slow', 1),
      originalContextLength: read.integer('original_max_position_embeddings', contextLength),
      attentionFactor: read.positive('attention_factor', yarnAttention(factor, read)),
      truncate: read.boolean('truncate', true),
    };
  },
} satisfies Record<string, (read: FieldReader, contextLength: number | undefined) => RopeScaling>;

export const ropeScalings = Object.keys(readers) as readonly (keyof typeof readers)[];

/**
 * Reads the fields of a scaling of the given type. Throws `MODEL_CONFIG_INVALID`.
 * @param contextLength the length before the extension, if the fields do not say it
 */
export function readRopeScaling(
  type: keyof typeof readers,
  read: FieldReader,
  contextLength: number | undefined,
): RopeScaling {
  return readers[type](read, contextLength);
}

/** The factor of cosines and sines in YaRN, §3.4; DeepSeek's models weight it by mscale. */
function yarnAttention(factor: number, read: FieldReader): number {
  const sharper = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
  const [mscale, allDimensions] = [read.number('mscale', 0), read.number('mscale_all_dim', 0)];
  return mscale && allDimensions ? sharper(mscale) / sharper(allDimensions) : sharper(1);
}

/** The factor of a lane's frequency. @param lane of headSize / 2 */
export function frequencyFactor({ theta, scaling }: RopeSettings, lane: number, headSize: number): number {
  if (!scaling) return 1;
  const kept = keptShare(scaling, theta, lane, headSize);
  return kept + (1 - kept) / scaling.factor;
}

/** How much of a frequency is kept: 1 for all, 0 if it is divided by the factor. */
function keptShare(scaling: RopeScaling, theta: number, lane: number, headSize: number): number {
  if (scaling.type === 'linear') return 0;
  const { originalContextLength } = scaling;
  if (scaling.type === 'llama3') {
    const { lowFrequencyFactor, highFrequencyFactor } = scaling;
    const turns = originalContextLength / (2 * Math.PI * theta ** ((2 * lane) / headSize));
    return clamp((turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor));
  }
  const { betaFast, betaSlow, truncate } = scaling;
  /** The lane that makes this number of turns in the original context. */
  const laneOf = (turns: number) =>
    (headSize * Math.log(originalContextLength / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
  const [first, last] = [laneOf(betaFast), laneOf(betaSlow)];
  const low = Math.max(truncate ? Math.floor(first) : first, 0);
  const high = Math.min(truncate ? Math.ceil(last) : last, headSize - 1);
  return 1 - clamp((lane - low) / (high === low ? 0.001 : high - low));
}

const clamp = (value: number) => Math.min(1, Math.max(0, value));
