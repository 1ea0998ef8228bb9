// How long a step takes, from the number of operations alone. docs/planning.md explains the formula; it is right within a factor of three.
import type { Architecture } from '../../models/families.ts';
import type { TimeEstimate, Workload } from '../backend.ts';
import { parameterCount } from './memory-estimate.ts';

/** Measured on a server's cores with AVX-512; a notebook's are about as fast, old ones half. */
const MEASURED = {
  /** Operations a second and thread, in products of many rows (training, reading prompts) and of few (one token each). */
  trainingRate: 40e9,
  decodingRate: 30e9,
  /** Bytes a second at which weights are read, by all threads together: each token run reads all of them. */
  bandwidth: 10e9,
  /** Seconds that a run takes beside its products, for each layer: launching, attention over the cache. */
  runOverheadPerLayer: 0.3e-3,
  /** Seconds to pick a token, for each entry of the vocabulary. */
  samplingPerEntry: 3e-9,
  /** Seconds to read a parameter, and to compile a layer's share of the graphs. */
  readingPerParameter: 10e-9,
  compilingPerLayer: 0.15,
} as const;

export interface TimeSettings {
  /** Whether all parameters are trained: then there is a gradient of every weight as well. */
  readonly full: boolean;
  readonly threads: number;
  /** Passes without gradients over the same sequences: of the reference. */
  readonly scoringPasses: number;
  /** Whether layers are computed again for their gradients. */
  readonly recompute: boolean;
}

export function timeEstimate(
  { config, parameters }: Architecture,
  { full, threads, scoringPasses, recompute }: TimeSettings,
  { prompts, generations, promptTokens, completionTokens }: Workload,
): TimeEstimate {
  const total = parameterCount(parameters);
  const linear = parameterCount(parameters.filter(({ kind }) => kind === 'linear'));
  const output = config.vocabularySize * config.hiddenSize;
  const rows = prompts * generations;
  const read = prompts * promptTokens;
  const written = rows * completionTokens;

  // A product of a row with a weight is two operations a number.
  const prefill = (2 * linear * read) / (MEASURED.trainingRate * threads);
  const products = (2 * (linear + output) * rows) / (MEASURED.decodingRate * threads);
  const reading = (4 * (linear + output)) / MEASURED.bandwidth;
  const run =
    Math.max(products, reading) +
    config.layers * MEASURED.runOverheadPerLayer +
    rows * config.vocabularySize * MEASURED.samplingPerEntry;

  const forward = 2 * (linear * (read + written) + output * written);
  // Backwards: the gradient of what a layer read, and with full fine-tuning of its weights.
  const passes = 1 + 1 + (full ? 1 : 0) + (recompute ? 1 : 0) + scoringPasses;
  return {
    start: total * MEASURED.readingPerParameter + config.layers * MEASURED.compilingPerLayer,
    generate: prefill + completionTokens * run,
    update: (passes * forward) / (MEASURED.trainingRate * threads),
  };
}
