// What a backend is: whatever opens, for a configuration, a model that the loop can sample from, train, save and load.
import type { Config } from '../config/schema.ts';
import type { Model } from '../model.ts';
import type { Architecture } from '../models/families.ts';
import type { Renderer } from '../rendering.ts';
import type { SessionRun } from '../runtime/recording.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { ModelPlace } from './model-files/find-model.ts';
import type { TemplateUse } from './open-renderer.ts';

/** A model that a run can keep, with what it trains in checkpoints. */
export interface TrainableModel extends Model {
  /** The type of the weights that completions are sampled with, adapters aside; absent where the backend leaves that to its engine. */
  readonly rolloutDtype?: string;
  readonly parameters: { readonly total: number; readonly trainable: number };
  /** Writes everything that training goes on from into a folder that exists. */
  save(directory: string): Promise<void>;
  /** Continues exactly from what `save` wrote. Throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_MISMATCH`. */
  load(directory: string, options?: LoadOptions): Promise<void>;
  dispose(): void;
}

export interface LoadOptions {
  /** Leave the optimiser as it is: it starts afresh. @default false */
  readonly weightsOnly?: boolean;
}

/** What a model reads and writes. */
export interface ModelInterface {
  /** Between messages and the model's tokens. */
  readonly renderer: Renderer;
  readonly template: TemplateUse;
  /** Absent where there is no language model. */
  readonly tokenizer?: Tokenizer;
  /** Tokens that the model can hold, prompt and completion together. */
  readonly contextLength: number;
}

/** What a step asks of a model, every sequence as long as it may be. */
export interface Workload {
  readonly prompts: number;
  /** Completions of each. */
  readonly generations: number;
  /** Tokens of the longest prompt. */
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Seconds, roughly. */
export interface TimeEstimate {
  /** Reading the model and compiling its graphs, once. */
  readonly start: number;
  /** Sampling the completions of a step, to their full length. */
  readonly generate: number;
  /** One update with them. */
  readonly update: number;
}

export interface ModelDescription extends ModelInterface {
  /** What the type of the weights that completions are sampled with would be, as in `TrainableModel`. */
  readonly rolloutDtype?: string;
  readonly parameters: { readonly total: number; readonly trainable: number };
  /** What it computes on, in words. */
  readonly device: string;
  /** Absent where there is no language model. */
  readonly architecture?: Architecture;
  /** Absent where there is no language model. */
  readonly place?: ModelPlace;
  /** The peak of the whole process in bytes, by what takes them; an estimate. */
  memory(workload: Workload): Readonly<Record<string, number>>;
  time(workload: Workload): TimeEstimate;
  /** What an engine in another process would be started with, and told. */
  readonly engine?: Readonly<Record<string, unknown>>;
}

export interface OpenBackend extends ModelInterface {
  readonly model: TrainableModel;
  /** The versions of the libraries that compute, by name, for the record of a run. */
  readonly versions: Readonly<Record<string, string>>;
  /** From now on, keeps what an engine in another process writes about itself in a folder. */
  keepLogs?(folder: string): void;
}

/** Records what the computations of this process spend their time on. */
export interface Profiler {
  start(): void;
  /** The runs that have ended since the last time, in order. */
  take(): Iterable<SessionRun>;
  /** Forgets what was not taken. */
  stop(): void;
}

/** Nothing but its module knows which one it is: commands, evaluations, checkpoints and runs are the same for all. */
export interface Backend {
  /** Throws `CONFIG_CONFLICT` for settings that this backend cannot follow together; reads no file. Absent where there are none. */
  check?(config: Config): void;
  /** What `open` would open, from the headers of its files: no weight is read. Throws what `open` throws of them. */
  describe(config: Config): Promise<ModelDescription>;
  /**
   * Whoever opens a model disposes of it. Keys that it would ignore have been refused before: `config/support.ts`.
   * @param signal ends a download
   */
  open(config: Config, signal?: AbortSignal): Promise<OpenBackend>;
  /** Absent where it cannot tell. */
  readonly profiler?: Profiler;
}
