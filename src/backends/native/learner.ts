// Forward and backward passes over a batch, micro-batch by micro-batch; gradients add up in one flat vector.
import { foldMetrics } from '../../grpo/loss-metrics.ts';
import { grpoLoss, type LossSettings } from '../../grpo/losses.ts';
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
import { add, div, greater, input, mul, neg, reduceSum, stopGradient, where } from '../../tensor/ops.ts';
import { size, times } from '../../tensor/shape.ts';
import { Arena, type ArenaLayout } from './arena.ts';
import { type MicroBatch, type MicroBatchLimits, microBatches } from './micro-batches.ts';
import { bindInputs, RunTensors } from './run-tensors.ts';

/** What is learnt: rewards by GRPO, or the completions themselves. */
export type Objective = LossSettings | 'supervised';

export interface LearnerOptions {
  readonly architecture: Architecture;
  readonly adapters?: LoraAdapters;
  readonly objective: Objective;
  readonly temperature: number;
  readonly layout: ArenaLayout;
  /** Parameters that stay as they are, and the rotary tables. */
  readonly frozen: ReadonlyMap<string, BoundTensor>;
  readonly positions: number;
  readonly limits: MicroBatchLimits;
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
  #scratch: Arena | undefined;

  constructor(options: LearnerOptions) {
    this.#options = options;
    const outputs = trainingOutputs(options);
    this.#metricNames = Object.keys(outputs).filter((name) => name.startsWith(METRIC));
    this.#session = compile(outputs, options, 'training step');
    this.#inputs = new Set(this.#session.inputs);
    this.#accumulator = createSession(accumulatorModel(), { name: 'gradient sum' });
  }

  /** The gradient of the batch's loss at `values`, written to `into`. */
  async gradient(sequences: readonly TrainingSequence[], values: Arena, into: Arena): Promise<PassResult> {
    const totals = { tokens: trainedTokens(sequences), sequences: sequences.length };
    const logprobs: number[][] = [];
    const metrics: Record<string, number>[] = [];
    for (const [index, part] of microBatches(sequences, this.#options.limits).entries()) {
      const target = index === 0 ? into : this.#scratchArena();
      metrics.push(await this.#run(part, sequences, totals, values, target, logprobs));
      if (index > 0) await this.#accumulate(into, target);
    }
    return { metrics: foldMetrics(metrics), logprobs };
  }

  dispose(): void {
    this.#session.dispose();
    this.#accumulator.dispose();
    this.#scratch?.dispose();
  }

  async #run(
    part: MicroBatch,
    sequences: readonly TrainingSequence[],
    totals: { tokens: number; sequences: number },
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
    bindInputs(binding, this.#inputs, lossInputs(part, sequences, totals, run));
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

/** Log-probabilities without gradients. */
export class Scorer {
  readonly #options: Omit<LearnerOptions, 'objective'>;
  readonly #session: Session;
  readonly #inputs: ReadonlySet<string>;

  constructor(options: Omit<LearnerOptions, 'objective'>) {
    this.#options = options;
    this.#session = compile({ logprobs: trainingGraph(options.architecture, options).logprobs }, options, 'scoring');
    this.#inputs = new Set(this.#session.inputs);
  }

  /** For each sequence the log-probability of each completion token at `values`; 0 where the mask is false. */
  async logprobs(sequences: readonly TrainingSequence[], values: Arena): Promise<number[][]> {
    const logprobs: number[][] = [];
    for (const part of microBatches(sequences, this.#options.limits)) {
      using run = new RunTensors();
      using binding = this.#session.bind();
      bindInputs(binding, this.#inputs, values.tensors);
      bindInputs(binding, this.#inputs, layoutInputs(part, sequences, run));
      const output = run.create('float32', [part.rows.length, part.sizes.C]);
      binding.output('logprobs', output);
      await binding.run();
      readRows(part, sequences, output.buffer.data, logprobs);
    }
    return logprobs;
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

const TOTALS = { tokens: input('total_tokens', 'float32', []), sequences: input('total_sequences', 'float32', []) };
const perToken = (name: string) => input(name, 'float32', [times(U, G), C]);

function rewardLoss({ logprobs, entropy }: TrainingGraph, settings: LossSettings) {
  const mask = perToken('mask');
  const measured = settings.beta !== 0 || settings.log_kl;
  const { loss, metrics } = grpoLoss(
    {
      logprobs,
      // On the first update of a batch the old weights are these very ones.
      oldLogprobs: where(greater(input('has_old', 'float32', []), 0), perToken('old_logprobs'), stopGradient(logprobs)),
      ...(measured && { referenceLogprobs: perToken('reference_logprobs') }),
      ...(settings.sampling_correction && { samplerLogprobs: perToken('sampler_logprobs') }),
      advantages: input('advantages', 'float32', [times(U, G), 1]),
      mask,
      totals: TOTALS,
    },
    settings,
  );
  return { loss, metrics: { ...metrics, entropy: meanOverTokens(entropy, mask) } };
}

/** Cross-entropy of the completions: the mean over tokens. */
function supervisedLoss({ logprobs, entropy }: TrainingGraph) {
  const mask = perToken('mask');
  return { loss: neg(meanOverTokens(logprobs, mask)), metrics: { entropy: meanOverTokens(entropy, mask) } };
}

function meanOverTokens(x: Tensor, mask: Tensor): Tensor {
  return div(reduceSum(mul(x, mask)), TOTALS.tokens);
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

/** A finite stand-in for −∞: exp of it is 0. */
const HIDDEN = -1e9;

/** The inputs of models/training-graph.ts and models/prefix-attention.ts for a micro-batch. */
function layoutInputs(
  part: MicroBatch,
  sequences: readonly TrainingSequence[],
  run: RunTensors,
): [string, BoundTensor][] {
  const { U: prompts, P: promptWidth, G: group, C: width } = part.sizes;
  const promptRows = prompts * promptWidth;
  const rows = promptRows + part.rows.length * width;
  const ids = new Array<number>(rows).fill(0);
  const positions = new Array<number>(rows).fill(0);
  const sources: number[] = [];
  const targets: number[] = [];
  const places: number[] = [];
  const untrained: number[] = [];

  for (const [u, promptIds] of part.prompts.entries()) {
    for (let p = 0; p < promptWidth; p++) {
      ids[u * promptWidth + p] = promptIds[p] ?? 0;
      positions[u * promptWidth + p] = p;
    }
  }
  for (const [row, index] of part.rows.entries()) {
    const prompt = Math.floor(row / group);
    const promptLength = part.prompts[prompt]!.length;
    const start = promptRows + row * width;
    const sequence = index === undefined ? undefined : sequences[index]!;
    for (let c = 0; c < width; c++) {
      ids[start + c] = sequence?.completionIds[c] ?? 0;
      // Padding behind a completion must stay within the rotary tables.
      positions[start + c] = promptLength + (sequence && c < sequence.completionIds.length ? c : 0);
      if (sequence?.mask[c]) {
        places.push(sources.length);
        // A completion's first token is predicted by its prompt's last.
        sources.push(c === 0 ? prompt * promptWidth + promptLength - 1 : start + c - 1);
        targets.push(sequence.completionIds[c]!);
      } else {
        untrained.push(places.length);
        places.push(0);
      }
    }
  }
  for (const place of untrained) places[place] = sources.length;

  const padding = part.prompts.flatMap(({ length }) =>
    Array.from({ length: promptWidth }, (_, p) => (p < length ? 0 : HIDDEN)),
  );
  return [
    ['ids', run.integers([rows], ids)],
    ['positions', run.integers([rows, 1], positions)],
    ['sources', run.integers([sources.length], sources)],
    ['targets', run.integers([targets.length], targets)],
    ['places', run.integers([prompts, group, width], places)],
    ['prompt_causal', run.floats([promptWidth, promptWidth], causal(promptWidth))],
    ['completion_causal', run.floats([width, width], causal(width))],
    ['prompt_padding', run.floats([prompts, 1, 1, 1, 1, promptWidth], padding)],
  ];
}

function lossInputs(
  part: MicroBatch,
  sequences: readonly TrainingSequence[],
  totals: { tokens: number; sequences: number },
  run: RunTensors,
): [string, BoundTensor][] {
  const width = part.sizes.C;
  const of = part.rows.map((index) => (index === undefined ? undefined : sequences[index]));
  const perToken = (values: (sequence: TrainingSequence) => readonly (number | boolean)[] | undefined) =>
    run.floats(
      [of.length, width],
      of.flatMap((sequence) =>
        Array.from({ length: width }, (_, c) => Number((sequence && values(sequence)?.[c]) ?? 0)),
      ),
    );
  return [
    ['mask', perToken(({ mask }) => mask)],
    ['has_old', run.floats([], [Number(sequences.every(({ oldLogprobs }) => oldLogprobs))])],
    ['old_logprobs', perToken(({ oldLogprobs }) => oldLogprobs)],
    ['sampler_logprobs', perToken(({ samplerLogprobs }) => samplerLogprobs)],
    ['reference_logprobs', perToken(({ referenceLogprobs }) => referenceLogprobs)],
    [
      'advantages',
      run.floats(
        [of.length, 1],
        of.map((sequence) => sequence?.advantage ?? 0),
      ),
    ],
    ['total_tokens', run.floats([], [totals.tokens])],
    ['total_sequences', run.floats([], [totals.sequences])],
  ];
}

function causal(width: number): Float32Array {
  return Float32Array.from({ length: width * width }, (_, i) => (i % width <= Math.floor(i / width) ? 0 : HIDDEN));
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

function trainedTokens(sequences: readonly TrainingSequence[]): number {
  return sequences.reduce((sum, { mask }) => sum + mask.filter(Boolean).length, 0);
}
