// Forward and backward passes over a batch, micro-batch by micro-batch; gradients add up in one flat vector.
import { hasEntropyBonus } from '../../grpo/entropy-control.ts';
import { topEntropyMask } from '../../grpo/entropy-mask.ts';
import { foldMetrics } from '../../grpo/loss-metrics.ts';
import type { LossSettings } from '../../grpo/loss-settings.ts';
import { grpoLoss } from '../../grpo/losses.ts';
import type { TrainingSequence } from '../../model.ts';
import type { Architecture } from '../../models/families.ts';
import type { LoraAdapters } from '../../models/lora.ts';
import { C, G, U } from '../../models/prefix-attention.ts';
import { type TrainingGraph, trainingGraph } from '../../models/training-graph.ts';
import { createSession, type Session, type SessionOptions } from '../../runtime/session.ts';
import type { Tensor as BoundTensor } from '../../runtime/tensor.ts';
import { gradients } from '../../tensor/gradients.ts';
import { inputsOf, type Tensor } from '../../tensor/graph.ts';
import { lowerToOnnx } from '../../tensor/onnx.ts';
import { add, div, greater, input, maximum, mul, neg, reduceSum, stopGradient, where } from '../../tensor/ops.ts';
import { size, times } from '../../tensor/shape.ts';
import { Arena, type ArenaLayout } from './arena.ts';
import { dropoutInputs, layoutInputs, lossInputs, type StepInputs } from './learner-inputs.ts';
import { type MicroBatch, type MicroBatchLimits, microBatches } from './micro-batches.ts';
import { bindInputs, RunTensors } from './run-tensors.ts';

/** What is learnt: rewards by GRPO, or the completions themselves. */
export type Objective = LossSettings | 'supervised';

export interface LearnerOptions {
  readonly architecture: Architecture;
  readonly adapters?: LoraAdapters;
  /** How likely an adapter does not see a number while training. @default 0 */
  readonly dropout?: number;
  readonly objective: Objective;
  readonly temperature: number;
  readonly layout: ArenaLayout;
  /** Parameters that stay as they are, and the rotary tables. */
  readonly frozen: ReadonlyMap<string, BoundTensor>;
  readonly positions: number;
  readonly limits: MicroBatchLimits;
  /** Compute layers again for their gradients instead of keeping what they computed. @default false */
  readonly recompute?: boolean;
  readonly session: Pick<SessionOptions, 'threads' | 'device' | 'profile'>;
}

export interface PassResult {
  readonly metrics: Record<string, number>;
  /** For each sequence the log-probability of each completion token; 0 where the mask is false. */
  readonly logprobs: number[][];
}

/** A compiled objective. */
export class Learner {
  readonly #options: LearnerOptions;
  readonly #session: Session;
  readonly #inputs: ReadonlySet<string>;
  readonly #metricNames: readonly string[];
  readonly #accumulator: Session;
  /** Where the loss learns from tokens of high entropy alone: which those are must be known before the first micro-batch. */
  readonly #entropies: Scorer | undefined;
  #scratch: Arena | undefined;

  constructor(options: LearnerOptions) {
    this.#options = options;
    const outputs = trainingOutputs(options);
    this.#metricNames = Object.keys(outputs).filter((name) => name.startsWith(METRIC));
    this.#session = compile(outputs, options, 'training step');
    this.#inputs = new Set(this.#session.inputs);
    this.#accumulator = createSession(accumulatorModel(), { name: 'gradient sum' });
    if (keptFraction(options.objective) < 1) this.#entropies = new Scorer(options, 'entropy');
  }

  /**
   * The gradient of the batch's loss at `values`, written to `into`.
   * @param entropyCoefficient of a loss with an entropy bonus
   * @param seed of what dropout leaves out
   */
  async gradient(
    sequences: readonly TrainingSequence[],
    values: Arena,
    into: Arena,
    { entropyCoefficient = 0, seed = 0 }: { readonly entropyCoefficient?: number; readonly seed?: number } = {},
  ): Promise<PassResult> {
    const step = { entropyCoefficient, seed, ...(await this.#entropyMasks(sequences, values)) };
    const logprobs: number[][] = [];
    const metrics: Record<string, number>[] = [];
    for (const [index, part] of microBatches(sequences, this.#options.limits).entries()) {
      const target = index === 0 ? into : this.#scratchArena();
      metrics.push(await this.#run(part, sequences, step, values, target, logprobs));
      if (index > 0) await this.#accumulate(into, target);
    }
    return { metrics: foldMetrics(metrics), logprobs };
  }

  dispose(): void {
    this.#session.dispose();
    this.#accumulator.dispose();
    this.#entropies?.dispose();
    this.#scratch?.dispose();
  }

  async #entropyMasks(sequences: readonly TrainingSequence[], values: Arena) {
    if (!this.#entropies) return {};
    const entropies = await this.#entropies.score(sequences, values);
    const masks = sequences.map(({ mask }) => mask);
    return { entropyMasks: topEntropyMask(entropies, masks, keptFraction(this.#options.objective)) };
  }

  async #run(
    part: MicroBatch,
    sequences: readonly TrainingSequence[],
    step: StepInputs,
    values: Arena,
    into: Arena,
    logprobs: number[][],
  ): Promise<Record<string, number>> {
    using run = new RunTensors();
    using binding = this.#session.bind();
    const rows = part.rows.length;
    const { C: width } = part.sizes;
    bindInputs(binding, this.#inputs, values.tensors);
    bindInputs(binding, this.#inputs, layoutInputs(part, sequences, run));
    bindInputs(binding, this.#inputs, lossInputs(part, sequences, step, run));
    const { adapters, dropout = 0 } = this.#options;
    if (adapters && dropout > 0) bindInputs(binding, this.#inputs, dropoutInputs(part, adapters, step.seed, run));
    const outputs = new Map<string, BoundTensor<'float32'>>();
    for (const name of ['loss', ...this.#metricNames]) outputs.set(name, run.create('float32', []));
    outputs.set('logprobs', run.create('float32', [rows, width]));
    for (const [name, value] of outputs) binding.output(name, value);
    for (const [name, value] of into.tensors) binding.output(gradientName(name), value);
    await binding.run();
    readRows(part, sequences, outputs.get('logprobs')!.buffer.data, logprobs);
    return Object.fromEntries(
      ['loss', ...this.#metricNames].map((name) => [name.replace(METRIC, ''), outputs.get(name)!.buffer.data[0]!]),
    );
  }

  async #accumulate(sum: Arena, addend: Arena): Promise<void> {
    using binding = this.#accumulator.bind();
    using run = new RunTensors();
    const [a, b] = [run.view(sum.buffer), run.view(addend.buffer)];
    binding.input('a', a).input('b', b).output('sum', a);
    await binding.run();
  }

  #scratchArena(): Arena {
    this.#scratch ??= new Arena(this.#options.layout);
    return this.#scratch;
  }
}

/** One number for each token, without gradients. */
export class Scorer {
  readonly #options: Omit<LearnerOptions, 'objective'>;
  readonly #output: 'logprobs' | 'entropy';
  readonly #session: Session;
  readonly #inputs: ReadonlySet<string>;

  /** @param output log-probabilities of the tokens, or entropies of the distributions that they are drawn from */
  constructor(options: Omit<LearnerOptions, 'objective'>, output: 'logprobs' | 'entropy') {
    this.#options = options;
    this.#output = output;
    const graph = trainingGraph(options.architecture, { ...options, dropout: 0 });
    this.#session = compile({ [output]: graph[output] }, options, `scoring: ${output}`);
    this.#inputs = new Set(this.#session.inputs);
  }

  /** For each sequence the number of each completion token at `values`; 0 where the mask is false. */
  async score(sequences: readonly TrainingSequence[], values: Arena): Promise<number[][]> {
    const scores: number[][] = [];
    for (const part of microBatches(sequences, this.#options.limits)) {
      using run = new RunTensors();
      using binding = this.#session.bind();
      bindInputs(binding, this.#inputs, values.tensors);
      bindInputs(binding, this.#inputs, layoutInputs(part, sequences, run));
      const output = run.create('float32', [part.rows.length, part.sizes.C]);
      binding.output(this.#output, output);
      await binding.run();
      readRows(part, sequences, output.buffer.data, scores);
    }
    return scores;
  }

  dispose(): void {
    this.#session.dispose();
  }
}

const METRIC = 'metric:';
const gradientName = (parameter: string) => `gradient:${parameter}`;

/** The loss, its metrics, and the gradient of every trainable parameter. */
function trainingOutputs(options: LearnerOptions): Record<string, Tensor> {
  const graph = trainingGraph(options.architecture, options);
  const { loss, metrics } =
    options.objective === 'supervised' ? supervisedLoss(graph) : rewardLoss(graph, options.objective);
  const outputs: Record<string, Tensor> = { loss, logprobs: graph.logprobs };
  for (const [name, metric] of Object.entries(metrics)) outputs[METRIC + name] = metric;
  const inputs = inputsOf([loss]);
  const names = options.layout.entries.map(({ name }) => name);
  const parameters = names.map((name) => {
    const parameter = inputs.get(name);
    if (!parameter) throw new Error(`the loss does not depend on ${name}`);
    return parameter;
  });
  for (const [i, gradient] of gradients(loss, parameters).entries()) outputs[gradientName(names[i]!)] = gradient;
  return outputs;
}

const scalar = (name: string) => input(name, 'float32', []);
const perToken = (name: string) => input(name, 'float32', [times(U, G), C]);
const TOTALS = {
  tokens: scalar('total_tokens'),
  sequences: scalar('total_sequences'),
  entropyTokens: scalar('total_entropy_tokens'),
};

function rewardLoss({ logprobs, entropy }: TrainingGraph, settings: LossSettings) {
  const mask = perToken('mask');
  const usesReference = settings.beta !== 0 || settings.log_kl;
  const usesSampler = Boolean(settings.sampling_correction) || settings.off_policy_mask_threshold !== null;
  const entropyMask = keptFraction(settings) < 1 ? perToken('entropy_mask') : undefined;
  const { loss, metrics } = grpoLoss(
    {
      logprobs,
      // On the first update of a batch the old weights are these very ones.
      oldLogprobs: where(greater(scalar('has_old'), 0), perToken('old_logprobs'), stopGradient(logprobs)),
      ...(usesReference && { referenceLogprobs: perToken('reference_logprobs') }),
      ...(usesSampler && { samplerLogprobs: perToken('sampler_logprobs') }),
      ...(entropyMask && { entropyMask }),
      ...(hasEntropyBonus(settings) && { entropyBonus: { coefficient: scalar('entropy_coefficient'), entropy } }),
      advantages: input('advantages', 'float32', [times(U, G), 1]),
      mask,
      totals: entropyMask ? TOTALS : { tokens: TOTALS.tokens, sequences: TOTALS.sequences },
    },
    settings,
  );
  const entropies = {
    entropy: meanOver(mask, TOTALS.tokens, entropy),
    ...(entropyMask && { top_entropy: meanOver(entropyMask, TOTALS.entropyTokens, entropy) }),
  };
  return { loss, metrics: { ...metrics, ...entropies } };
}

/** The fraction of tokens, those of the highest entropy, that an objective learns from. */
function keptFraction(objective: Objective): number {
  return objective === 'supervised' ? 1 : objective.top_entropy_quantile;
}

/** Cross-entropy of the completions: the mean over tokens. */
function supervisedLoss({ logprobs, entropy }: TrainingGraph) {
  const mask = perToken('mask');
  return {
    loss: neg(meanOver(mask, TOTALS.tokens, logprobs)),
    metrics: { entropy: meanOver(mask, TOTALS.tokens, entropy) },
  };
}

function meanOver(mask: Tensor, total: Tensor, x: Tensor): Tensor {
  return div(reduceSum(mul(x, mask)), maximum(total, 1));
}

function compile(outputs: Record<string, Tensor>, options: Omit<LearnerOptions, 'objective'>, name: string): Session {
  const used = inputsOf(Object.values(outputs));
  const initializers = new Map([...options.frozen].filter(([parameter]) => used.has(parameter)));
  const model = lowerToOnnx(outputs, { initializers: new Set(initializers.keys()) });
  // Not pre-packed: the sampler reads the same memory, and large products gain little.
  return createSession(model, { ...options.session, name, initializers, prepack: false });
}

function accumulatorModel(): Uint8Array {
  const vector = (name: string) => input(name, 'float32', [size('N')]);
  return lowerToOnnx({ sum: add(vector('a'), vector('b')) });
}

function readRows(
  part: MicroBatch,
  sequences: readonly TrainingSequence[],
  data: Float32Array,
  into: number[][],
): void {
  for (const [row, index] of part.rows.entries()) {
    if (index === undefined) continue;
    const start = row * part.sizes.C;
    into[index] = [...data.subarray(start, start + sequences[index]!.completionIds.length)];
  }
}
