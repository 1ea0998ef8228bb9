// The peak memory of a training process, from sizes alone. docs/planning.md explains the formula and how well it does.
import type { Architecture } from '../../models/families.ts';
import type { ModelConfig, ParameterSpec } from '../../models/layers.ts';
import { volume } from '../../tensor/shape.ts';
import type { Workload } from '../backend.ts';
import type { MemoryPlan } from './memory-plan.ts';
import { type MicroBatch, type MicroBatchLimits, microBatches } from './micro-batches.ts';

const MEBIBYTE = 2 ** 20;
const FLOAT = 4;

/** What was measured rather than derived: change them together with the engine, and measure again. */
const MEASURED = {
  /** Node, our code, ONNX Runtime's library. */
  process: 190 * MEBIBYTE,
  /** A layer's part of the compiled sessions, and of the graphs they were made from. */
  sessionsPerLayer: 8 * MEBIBYTE,
  /** Activations that the backward pass needs, for each row: so many times what all linear layers put out. */
  activationCopies: 1.4,
  /** Attention weights and what their gradients need, for each pair of rows that see one another. */
  attentionCopies: 2.5,
  /** Matrices as wide as the vocabulary that exist at once while training. */
  logitsCopies: 3,
  /** The same while sampling, those that we keep included. */
  scoreCopies: 4,
  /** Vectors as long as the trainable parameters that an optimiser step needs on top. */
  optimizerCopies: 4,
  /** What shapes that differ from run to run leave unused in ONNX Runtime's arena, of its working memory. */
  fragmentation: 0.25,
} as const;

export interface MemorySettings {
  readonly trainable: number;
  readonly full: boolean;
  readonly rolloutDtype: 'float32' | 'int8' | 'int4';
  readonly plan: MemoryPlan;
}

/** Bytes by what takes them; their sum is the peak. */
export function memoryEstimate(
  architecture: Architecture,
  { trainable, full, rolloutDtype, plan }: MemorySettings,
  workload: Workload,
): Record<string, number> {
  const { config, parameters } = architecture;
  const total = parameterCount(parameters);
  const parts = layouts(plan.limits, workload);
  const trained = full ? total : trainable;
  // Values, gradients and two moments; of all parameters also what they started from. A second micro-batch adds to the first's sum.
  const vectors = 4 + (full ? 1 : 0) + (parts.length > 1 ? 1 : 0);
  return {
    process: MEASURED.process,
    sessions: MEASURED.sessionsPerLayer * config.layers,
    weights: full ? 0 : FLOAT * total,
    sampler_weights: full ? 0 : samplerWeights(parameters, rolloutDtype),
    trained: FLOAT * trained * vectors,
    optimizer: FLOAT * trained * MEASURED.optimizerCopies,
    caches: Math.min(plan.cacheBudget, cacheBytes(config, workload)),
    sampling: FLOAT * MEASURED.scoreCopies * workload.prompts * workload.generations * config.vocabularySize,
    training:
      (1 + MEASURED.fragmentation) *
      Math.max(...parts.map((part) => trainingBytes(architecture, part, plan.recompute))),
  };
}

/** What a pass of the training graph holds until its backward half has used it. */
function trainingBytes({ config, parameters }: Architecture, { sizes, rows }: MicroBatch, recompute: boolean): number {
  const { U, P, C } = sizes;
  const completionRows = rows.length * C;
  const outputs = parameters.filter(({ kind }) => kind === 'linear').reduce((sum, { shape }) => sum + shape[0]!, 0);
  const layerRows = U * P + completionRows;
  const kept = recompute ? config.layers * config.hiddenSize * layerRows : 0;
  // Layers that hold their activations at once: one that is computed again, and the last, which is not.
  const layers = recompute ? Math.min(2, config.layers) : config.layers;
  const activations = (MEASURED.activationCopies * outputs * layerRows * layers) / config.layers;
  // Prompts see themselves; completions see their prompt and themselves.
  const pairs = U * P * P + completionRows * (P + C);
  const attention = MEASURED.attentionCopies * layers * config.heads * pairs;
  const logits = MEASURED.logitsCopies * config.vocabularySize * completionRows;
  return FLOAT * (kept + activations + attention + logits);
}

/** The micro-batches of a step in which every sequence is as long as it may be. */
function layouts(
  limits: MicroBatchLimits,
  { prompts, generations, promptTokens, completionTokens }: Workload,
): MicroBatch[] {
  const completionIds = new Array<number>(completionTokens).fill(0);
  const sequences = Array.from({ length: prompts }, (_, prompt) => {
    const promptIds = new Array<number>(promptTokens).fill(prompt);
    return Array.from({ length: generations }, () => ({ promptIds, completionIds, mask: [], advantage: 0 }));
  });
  return microBatches(sequences.flat(), limits);
}

/** Keys and values of the completions that are sampled together. */
function cacheBytes({ layers, keyValueHeads, headSize }: ModelConfig, workload: Workload): number {
  const { prompts, generations, promptTokens, completionTokens } = workload;
  const perToken = FLOAT * layers * 2 * keyValueHeads * headSize;
  return prompts * generations * (promptTokens + completionTokens) * perToken;
}

/** The sampler's own copies of frozen matrices: rearranged, or rounded. */
function samplerWeights(parameters: readonly ParameterSpec[], dtype: MemorySettings['rolloutDtype']): number {
  const matrices = parameterCount(parameters.filter(({ kind }) => kind === 'linear' || kind === 'embedding'));
  // Rounded ones twice: as we made them, and rearranged.
  return matrices * { float32: FLOAT, int8: 2 * (1 + FLOAT / 64), int4: 2 * (0.5 + FLOAT / 32) }[dtype];
}

/** Numbers in all of some parameters. */
export function parameterCount(parameters: readonly { readonly shape: readonly number[] }[]): number {
  return parameters.reduce((sum, { shape }) => sum + volume(shape), 0);
}
