// The compiled graph of sampling: rows read some tokens each, into caches updated in place, and tell what may come next.
import { type DecodingGraphOptions, decodingGraph, nextCacheName } from '../../models/decoding-graph.ts';
import type { Architecture } from '../../models/families.ts';
import type { Binding } from '../../runtime/binding.ts';
import { allocate, type NativeBuffer } from '../../runtime/buffers.ts';
import type { Device } from '../../runtime/device.ts';
import type { SessionOptions } from '../../runtime/session.ts';
import type { AnyTensor } from '../../runtime/tensor.ts';
import type { Arena } from './arena.ts';
import { type CompiledGraph, compileGraph } from './compiled-graph.ts';
import { bindInputs, RunTensors } from './run-tensors.ts';
import type { Scores } from './sampled-row.ts';

export interface DecodingSessionOptions extends DecodingGraphOptions {
  readonly architecture: Architecture;
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  readonly values: Arena;
  readonly session: Pick<SessionOptions, 'threads' | 'device'>;
}

/** What one run reads: for each row `width` tokens, the last of which stands at position `last`. Shorter prompts are padded on the right. */
export interface DecodingStep {
  readonly caches: ReadonlyMap<string, AnyTensor>;
  readonly rows: number;
  readonly width: number;
  readonly ids: readonly number[];
  readonly last: readonly number[];
  readonly temperature: number;
}

export class DecodingSession implements Disposable {
  readonly vocabularySize: number;
  readonly device: Device;
  readonly #graph: CompiledGraph;
  readonly #values: Arena;

  constructor(options: DecodingSessionOptions) {
    const outputs = decodingGraph(options.architecture, options);
    this.vocabularySize = options.architecture.config.vocabularySize;
    this.#graph = compileGraph(outputs, options.frozen, {
      ...options.session,
      name: 'sampling',
      prepack: true,
      // How long the longest row is: one number a run.
      cpuHelps: true,
    });
    this.#values = options.values;
    this.device = options.values.layout.device;
  }

  /** What one batch of rows decodes with; several may do so at once. */
  begin(): Decoding {
    const binding = this.#graph.bind();
    bindInputs(binding, this.#graph.inputs, this.#values.tensors);
    return new Decoding(binding, this.vocabularySize);
  }

  [Symbol.dispose](): void {
    this.#graph.dispose();
  }
}

/** Runs of a session, one after another, to which the parameters are bound once. */
export class Decoding implements Disposable {
  readonly #binding: Binding;
  readonly #vocabularySize: number;
  readonly #scores = new ScoreBuffers();

  constructor(binding: Binding, vocabularySize: number) {
    this.#binding = binding;
    this.#vocabularySize = vocabularySize;
  }

  /** Hands each row's scores over while they last. */
  async run(step: DecodingStep, consume: (row: number, scores: Scores) => void): Promise<void> {
    const { caches, rows, width, ids, last, temperature } = step;
    const size = this.#vocabularySize;
    using run = new RunTensors();
    const ends = last.map((position, row) => row * width + Math.min(position, width - 1));
    this.#scores.fit(rows * size);
    const logits = run.view(this.#scores.logits.slice(0, rows * size), [rows, size]);
    const probabilities = run.view(this.#scores.probabilities.slice(0, rows * size), [rows, size]);
    const totals = run.create('float32', [rows, 1]);
    this.#binding
      .input('ids', run.integers([rows, width], ids))
      .input('last_positions', run.integers([rows], last))
      .input('rows', run.integers([rows], ends))
      .input('inverse_temperature', run.floats([], [temperature === 0 ? 1 : 1 / temperature]))
      .output('logits', logits)
      .output('probabilities', probabilities)
      .output('log_total', totals);
    for (const [name, cache] of caches) this.#binding.input(name, cache).output(nextCacheName(name), cache);
    await this.#binding.run();
    // A cache that is moved must not be held here until the next run.
    for (const name of caches.keys()) {
      this.#binding.unbind(name);
      this.#binding.unbind(nextCacheName(name));
    }
    for (let row = 0; row < rows; row++) {
      const [start, end] = [row * size, (row + 1) * size];
      consume(row, {
        logits: logits.buffer.data.subarray(start, end),
        probabilities: probabilities.buffer.data.subarray(start, end),
        logTotal: totals.buffer.data[row]!,
      });
    }
  }

  [Symbol.dispose](): void {
    this.#binding.dispose();
    this.#scores[Symbol.dispose]();
  }
}

/** Where runs write [rows, vocabulary]. Kept between runs: fresh pages would cost more than the sampling. */
class ScoreBuffers implements Disposable {
  logits: NativeBuffer<'float32'> = allocate('float32', 0);
  probabilities: NativeBuffer<'float32'> = allocate('float32', 0);

  /** Makes room for so many of each. */
  fit(length: number): void {
    if (length <= this.logits.length) return;
    this[Symbol.dispose]();
    this.logits = allocate('float32', length);
    this.probabilities = allocate('float32', length);
  }

  [Symbol.dispose](): void {
    this.logits.dispose();
    this.probabilities.dispose();
  }
}
