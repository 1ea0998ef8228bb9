// Estimates the GPU memory that TRL needs to train a configuration, by the formula in docs/planning.md.
import type { ModelConfig, ParameterSpec } from '../../models/layers.ts';
import { volume } from '../../tensor/shape.ts';
import { splitGpu } from './gpu-cost.ts';

export interface GpuWorkload {
  /** Completions of a prompt, which are learnt from together. */
  readonly generations: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly trainable: number;
  /** Whether these are adapters, or parameters of the model itself. */
  readonly adapters: boolean;
  /** Whether a second copy of the weights is kept to measure the divergence from. */
  readonly reference: boolean;
}

export interface GpuEstimate {
  readonly gpu: string;
  /** In bytes. */
  readonly memory: number;
  readonly needed: number;
  readonly fits: boolean;
  /** The largest group that fits; 0 where not even the weights do. */
  readonly largest_num_generations: number;
}

const GIBIBYTE = 2 ** 30;

/** Memory of the GPUs that can be rented, by the names that configurations give them. */
const gpus: Readonly<Record<string, number>> = {
  T4: 16 * GIBIBYTE,
  L4: 24 * GIBIBYTE,
  A10G: 24 * GIBIBYTE,
  L40S: 48 * GIBIBYTE,
  'A100-40GB': 40 * GIBIBYTE,
  'A100-80GB': 80 * GIBIBYTE,
  H100: 80 * GIBIBYTE,
  H200: 141 * GIBIBYTE,
};

/** CUDA's context, kernels and workspaces, and the part of the rest that the allocator's pieces leave unused. */
const CONTEXT = 1.2 * GIBIBYTE;
const UNUSED = 0.1;

/** `undefined` for a GPU that is not known. */
export function gpuEstimate(
  gpu: string,
  config: ModelConfig,
  parameters: readonly ParameterSpec[],
  workload: GpuWorkload,
): GpuEstimate | undefined {
  const memory = gpus[splitGpu(gpu).name];
  if (memory === undefined) return undefined;
  const fixed = CONTEXT + fixedBytes(parameters, workload);
  const perCompletion = completionBytes(config, parameters, workload);
  const room = (memory - CONTEXT) / (1 + UNUSED) + CONTEXT - fixed;
  const needed = CONTEXT + (1 + UNUSED) * (fixed - CONTEXT + workload.generations * perCompletion);
  return {
    ...{ gpu, memory, needed, fits: needed <= memory },
    largest_num_generations: Math.max(0, Math.floor(room / perCompletion)),
  };
}

/**
 * Trained weights in float32 with their gradient and Adam's two moments; the model under adapters in bfloat16, one that is trained itself in float32,
 * whether all of it is trained or not.
 */
function fixedBytes(parameters: readonly ParameterSpec[], { trainable, adapters, reference }: GpuWorkload): number {
  const total = parameters.reduce((sum, { shape }) => sum + volume(shape), 0);
  // Adapters need no second copy: without them the model is its own reference.
  return adapters ? 16 * trainable + 2 * total : 12 * trainable + 4 * total * (reference ? 2 : 1);
}

/**
 * The larger of what a completion takes while it is sampled (keys and values in bfloat16, all completions at once) and while it is learnt
 * from: with gradient checkpointing what goes in of every layer in bfloat16, one layer in full, and of each completion token three rows of
 * logits in float32: themselves, their gradient, and the softmax in between.
 */
function completionBytes(config: ModelConfig, parameters: readonly ParameterSpec[], workload: GpuWorkload): number {
  const { layers, hiddenSize, keyValueHeads, headSize, vocabularySize } = config;
  const { promptTokens, completionTokens } = workload;
  const tokens = promptTokens + completionTokens;
  const outputs = parameters.filter(({ kind }) => kind === 'linear').reduce((sum, { shape }) => sum + shape[0]!, 0);
  const sampling = 2 * layers * 2 * keyValueHeads * headSize * tokens;
  const learning = 2 * layers * hiddenSize * tokens + 2 * 2 * 2 * (outputs / layers) * tokens;
  return Math.max(sampling, learning + 3 * 4 * vocabularySize * completionTokens);
}
