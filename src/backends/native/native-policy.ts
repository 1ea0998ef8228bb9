// Sampling: prompts are read once each, then all their completions advance together, one token a run, from caches updated in place.
import { GradusError } from '../../errors.ts';
import type { Completion, Policy, SampleRequest, SamplingOptions } from '../../generation.ts';
import { decodingGraph, keyCacheName, nextCacheName, valueCacheName } from '../../models/decoding-graph.ts';
import type { Architecture } from '../../models/families.ts';
import type { LoraAdapters } from '../../models/lora.ts';
import type { Quantization } from '../../models/quantized.ts';
import { likeliestToken, sampleToken } from '../../models/sampler.ts';
import { type RandomStream, randomStream } from '../../random.ts';
import { allocate, type NativeBuffer } from '../../runtime/buffers.ts';
import type { SessionOptions } from '../../runtime/session.ts';
import { type AnyTensor, type Tensor, tensor } from '../../runtime/tensor.ts';
import { volume } from '../../tensor/shape.ts';
import type { Arena } from './arena.ts';
import { type CompiledGraph, compileGraph } from './compiled-graph.ts';
import { bindInputs, RunTensors } from './run-tensors.ts';

export interface SamplerOptions {
  readonly architecture: Architecture;
  readonly adapters?: LoraAdapters;
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  /** How `frozen` holds the matrices. @default as they are */
  readonly quantization?: Quantization;
  /** Matrices that it leaves as they are. @default none */
  readonly exact?: ReadonlySet<string>;
  readonly values: Arena;
  readonly positions: number;
  /** The most memory, in bytes, that caches of one wave of completions may take. */
  readonly cacheBudget: number;
  readonly session: Pick<SessionOptions, 'threads' | 'device'>;
}

/** The most tokens, padding included, that are read in one run. */
const PREFILL_TOKENS = 1024;

interface Row {
  readonly request: SampleRequest;
  readonly random: RandomStream;
  readonly limit: number;
  readonly ids: number[];
  readonly logprobs: number[];
  readonly plainLogprobs: number[];
  finishReason?: Completion['finishReason'];
}

/** What a run tells of one row's next token. */
interface Scores {
  readonly logits: Float32Array;
  readonly probabilities: Float32Array;
  /** log Σ exp of the logits. */
  readonly logTotal: number;
}

/** Rows that decode together, and memory of their own, so that several calls may sample at once. */
interface Wave {
  /** A slot of the caches is an index of this list: when a row ends, the last one takes its place. */
  readonly active: Row[];
  readonly caches: Caches;
  readonly scores: ScoreBuffers;
}

/** What one run reads: for each row `width` tokens, the last of which stands at position `last`. */
interface DecodingStep {
  readonly caches: Caches;
  readonly scores: ScoreBuffers;
  readonly rows: number;
  readonly width: number;
  readonly ids: readonly number[];
  readonly last: readonly number[];
}

export class NativePolicy implements Policy {
  readonly contextLength: number;
  readonly #options: SamplerOptions;
  readonly #graph: CompiledGraph;
  readonly #cacheNames: readonly string[];

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.contextLength = options.positions;
    const outputs = decodingGraph(options.architecture, options);
    this.#graph = compileGraph(outputs, options.frozen, {
      ...options.session,
      name: 'sampling',
      prepack: true,
      // How long the longest row is: one number a run.
      cpuHelps: true,
    });
    this.#cacheNames = Array.from({ length: options.architecture.config.layers }, (_, layer) => [
      keyCacheName(layer),
      valueCacheName(layer),
    ]).flat();
  }

  async sample(requests: readonly SampleRequest[], options: SamplingOptions): Promise<Completion[]> {
    const rows = requests.map((request) => newRow(request, options, this.contextLength));
    for (const wave of this.#waves(rows)) {
      if (!options.signal?.aborted) await this.#sampleWave(wave, options);
    }
    // Only cancelling leaves a row without an end of its own.
    return rows.map(({ ids, logprobs, plainLogprobs, finishReason = 'cancelled' }) => ({
      ids,
      logprobs,
      plainLogprobs,
      finishReason,
    }));
  }

  dispose(): void {
    this.#graph.dispose();
  }

  /** Rows that fit the cache's budget together, in order. */
  #waves(rows: readonly Row[]): Row[][] {
    const { layers, keyValueHeads, headSize } = this.#options.architecture.config;
    const bytesPerToken = layers * 2 * keyValueHeads * headSize * 4;
    const waves: Row[][] = [];
    let longest = 0;
    for (const row of rows) {
      const wave = waves.at(-1);
      const wider = Math.max(longest, row.request.promptIds.length + row.limit);
      if (wave && wider * (wave.length + 1) * bytesPerToken <= this.#options.cacheBudget) {
        wave.push(row);
        longest = wider;
      } else {
        waves.push([row]);
        longest = row.request.promptIds.length + row.limit;
      }
    }
    return waves;
  }

  async #sampleWave(rows: readonly Row[], options: SamplingOptions): Promise<void> {
    const { architecture } = this.#options;
    const room = Math.max(...rows.map(({ request, limit }) => request.promptIds.length + limit));
    using caches = new Caches(architecture, this.#cacheNames, rows.length, room);
    using scores = new ScoreBuffers(rows.length, architecture.config.vocabularySize);
    const active: Row[] = [];
    const wave: Wave = { active, caches, scores };
    const prompts = Map.groupBy(rows, ({ request }) => request.promptIds.join(' '));
    for (const batch of prefillBatches([...prompts.values()])) await this.#prefill(batch, wave, options);
    compact(active, caches);
    while (active.length > 0 && !options.signal?.aborted) await this.#advance(wave, options);
  }

  /** Reads some prompts, one row each, hands every completion its copy of what was read, and takes its first token. */
  async #prefill(
    groups: readonly (readonly Row[])[],
    { active, caches, scores: memory }: Wave,
    options: SamplingOptions,
  ): Promise<void> {
    const prompts = groups.map(([first]) => first!.request.promptIds);
    const width = Math.max(...prompts.map(({ length }) => length));
    using own = new Caches(this.#options.architecture, this.#cacheNames, prompts.length, width);
    const ids = prompts.flatMap((prompt) => Array.from({ length: width }, (_, i) => prompt[i] ?? 0));
    const last = prompts.map(({ length }) => length - 1);
    const step = { caches: own, scores: memory, rows: prompts.length, width, ids, last };
    await this.#run(step, options, (prompt, scores) => {
      for (const row of groups[prompt]!) {
        caches.copyFrom(own, prompt, active.length, prompts[prompt]!.length);
        take(row, scores, options);
        active.push(row);
      }
    });
  }

  /** One more token for every active row. */
  async #advance({ active, caches, scores: memory }: Wave, options: SamplingOptions): Promise<void> {
    const ids = active.map((row) => row.ids.at(-1)!);
    const last = active.map(({ request, ids: { length } }) => request.promptIds.length + length - 1);
    const step = { caches, scores: memory, rows: active.length, width: 1, ids, last };
    await this.#run(step, options, (slot, scores) => take(active[slot]!, scores, options));
    compact(active, caches);
  }

  /** Runs the session, and hands each row's scores over while they last. */
  async #run(
    step: DecodingStep,
    options: SamplingOptions,
    consume: (row: number, scores: Scores) => void,
  ): Promise<void> {
    const { caches, rows, width, ids, last } = step;
    const { temperature = 1 } = options;
    const vocabulary = this.#options.architecture.config.vocabularySize;
    using run = new RunTensors();
    using binding = this.#graph.bind();
    bindInputs(binding, this.#graph.inputs, this.#options.values.tensors);
    bindInputs(binding, this.#graph.inputs, [
      ['ids', run.integers([rows, width], ids)],
      ['last_positions', run.integers([rows], last)],
      [
        'rows',
        run.integers(
          [rows],
          last.map((position, row) => row * width + (width === 1 ? 0 : position)),
        ),
      ],
      ['inverse_temperature', run.floats([], [temperature === 0 ? 1 : 1 / temperature])],
    ]);
    for (const [name, cache] of caches.tensors(rows)) binding.input(name, cache).output(nextCacheName(name), cache);
    const logits = run.view(step.scores.logits.slice(0, rows * vocabulary), [rows, vocabulary]);
    const probabilities = run.view(step.scores.probabilities.slice(0, rows * vocabulary), [rows, vocabulary]);
    const totals = run.create('float32', [rows, 1]);
    binding.output('logits', logits).output('probabilities', probabilities).output('log_total', totals);
    await binding.run();
    for (let row = 0; row < rows; row++) {
      const [start, end] = [row * vocabulary, (row + 1) * vocabulary];
      consume(row, {
        logits: logits.buffer.data.subarray(start, end),
        probabilities: probabilities.buffer.data.subarray(start, end),
        logTotal: totals.buffer.data[row]!,
      });
    }
  }
}

/** Where the runs of a wave write [rows, vocabulary]. Kept between runs: fresh pages would cost more than the sampling. */
class ScoreBuffers implements Disposable {
  readonly logits: NativeBuffer<'float32'>;
  readonly probabilities: NativeBuffer<'float32'>;

  constructor(rows: number, vocabulary: number) {
    this.logits = allocate('float32', rows * vocabulary);
    this.probabilities = allocate('float32', rows * vocabulary);
  }

  [Symbol.dispose](): void {
    this.logits.dispose();
    this.probabilities.dispose();
  }
}

/** Keys and values of a wave: for each layer [rows, keyValueHeads, room, headSize], twice. */
class Caches implements Disposable {
  readonly #heads: number;
  readonly #headSize: number;
  readonly #room: number;
  readonly #buffers: ReadonlyMap<string, NativeBuffer<'float32'>>;
  #tensors: { rows: number; views: Map<string, Tensor> } = { rows: 0, views: new Map() };

  constructor({ config }: Architecture, names: readonly string[], rows: number, room: number) {
    this.#heads = config.keyValueHeads;
    this.#headSize = config.headSize;
    this.#room = room;
    this.#buffers = new Map(
      names.map((name) => [name, allocate('float32', rows * this.#heads * room * this.#headSize)]),
    );
  }

  /** The caches of the first rows. */
  tensors(rows: number): ReadonlyMap<string, Tensor> {
    if (this.#tensors.rows !== rows) {
      this.#release();
      const shape = [rows, this.#heads, this.#room, this.#headSize];
      const length = volume(shape);
      this.#tensors = {
        rows,
        views: new Map([...this.#buffers].map(([name, buffer]) => [name, tensor(buffer.slice(0, length), shape)])),
      };
    }
    return this.#tensors.views;
  }

  /** Copies the first `length` positions of a row of other caches. */
  copyFrom(other: Caches, from: number, to: number, length: number): void {
    for (const [name, buffer] of this.#buffers) {
      const source = other.#buffers.get(name)!.data;
      for (let head = 0; head < this.#heads; head++) {
        const start = other.#offset(from, head);
        buffer.data.set(source.subarray(start, start + length * this.#headSize), this.#offset(to, head));
      }
    }
  }

  [Symbol.dispose](): void {
    this.#release();
    for (const buffer of this.#buffers.values()) buffer.dispose();
  }

  #offset(row: number, head: number): number {
    return (row * this.#heads + head) * this.#room * this.#headSize;
  }

  #release(): void {
    for (const view of this.#tensors.views.values()) view.dispose();
  }
}

/** Drops the rows that have ended; the last ones move into their slots. */
function compact(active: Row[], caches: Caches): void {
  for (let slot = active.length - 1; slot >= 0; slot--) {
    if (!active[slot]!.finishReason) continue;
    const moved = active.pop()!;
    if (slot === active.length) continue;
    active[slot] = moved;
    caches.copyFrom(caches, active.length, slot, moved.request.promptIds.length + moved.ids.length);
  }
}

function newRow(request: SampleRequest, options: SamplingOptions, contextLength: number): Row {
  const { length } = request.promptIds;
  if (length === 0)
    throw new GradusError('PROMPT_EMPTY', 'a prompt needs at least one token', {
      hint: 'begin it with the beginning-of-text token',
    });
  if (length >= contextLength) {
    throw new GradusError(
      'PROMPT_TOO_LONG',
      `a prompt of ${length} tokens leaves no room in a context of ${contextLength}`,
      {
        hint: 'shorten the prompt, or set overlong_prompts',
      },
    );
  }
  const limit = Math.min(request.maxTokens ?? options.maxTokens, contextLength - length);
  return { request, random: randomStream(request.seed), limit, ids: [], logprobs: [], plainLogprobs: [] };
}

/** Takes a row's next token from its scores, and notices whether that was its last. */
function take(row: Row, { logits, probabilities, logTotal }: Scores, options: SamplingOptions): void {
  const { temperature = 1, stopIds, stopWhen } = options;
  const greedy = temperature === 0;
  // Greedy choice is certain: its probability is 1.
  const { id, logprob } = greedy
    ? { id: likeliestToken(logits), logprob: 0 }
    : sampleToken(probabilities, row.random, options);
  row.ids.push(id);
  row.logprobs.push(logprob);
  row.plainLogprobs.push(logits[id]! - logTotal);
  const stopped = stopIds.has(id) || stopWhen?.(row.ids);
  if (stopped) row.finishReason = 'stop';
  else if (row.ids.length >= row.limit) row.finishReason = 'length';
}

/** Groups of rows with one prompt, batched so that a run stays within its tokens. */
function prefillBatches(groups: readonly (readonly Row[])[]): (readonly Row[])[][] {
  const batches: (readonly Row[])[][] = [];
  let width = 0;
  for (const group of groups) {
    const length = group[0]!.request.promptIds.length;
    const batch = batches.at(-1);
    if (batch && Math.max(width, length) * (batch.length + 1) <= PREFILL_TOKENS) {
      batch.push(group);
      width = Math.max(width, length);
    } else {
      batches.push([group]);
      width = length;
    }
  }
  return batches;
}
