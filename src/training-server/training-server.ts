// The state of a training server: sessions, the models that they train, and samplers of these models.
import { randomUUID } from 'node:crypto';
import type { LoraEngine } from '../backends/native/lora-models/lora-engine.ts';
import type { LoraModel, LoraWeights } from '../backends/native/lora-models/lora-model.ts';
import type { Architecture } from '../models/families.ts';
import type { LoraSettings } from '../models/lora.ts';
import type { TextLogprobs, TextLogprobsOptions } from '../policy.ts';
import { EngineQueue } from './engine-queue.ts';
import { Refusal } from './refusal.ts';
import type { CreateModelRequest } from './requests.ts';
import type { SampledText } from './sampling.ts';
import { type SavedWeights, type WeightsDescription, WeightsStore } from './saved-weights.ts';

/** Tinker's LoRA has this alpha whatever the rank: Schulman et al. 2025, "LoRA Without Regret". */
const ALPHA = 32;
/** The most samplers with weights in memory. Older ones read their files again, or are lost if they were saved without a name. */
const MOST_IN_MEMORY = 8;
/** A session that has been silent for this many milliseconds is over: clients send a heartbeat every 10 seconds. */
const SILENCE = 5 * 60_000;
/** After this many milliseconds it is forgotten. */
const LONG_SILENCE = 6 * 60 * 60_000;

export interface TrainingServerOptions {
  readonly engine: LoraEngine;
  readonly text: Pick<SampledText, 'tokenizer' | 'stopIds'>;
  /** The clients' name for the base model. */
  readonly name: string;
  /** Other names that are accepted for it. */
  readonly aliases: readonly string[];
  /** The name by which transformers loads the tokenizer: an id on the hub, or a folder. */
  readonly tokenizerId: string;
  /** The folder of saved weights. */
  readonly weights: string;
  /** The most models that are trained at a time. */
  readonly maxModels: number;
}

interface Session {
  lastHeard: number;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

export interface TrainedModel {
  readonly id: string;
  readonly session: string;
  readonly model: LoraModel;
  readonly described: Omit<WeightsDescription, 'created'>;
  lastRequest: number;
}

export interface Sampler {
  readonly id: string;
  /** The weights, if they are in memory; without a path and without these it is the base model. */
  weights: LoraWeights | undefined;
  /** The address of the weights, if they were saved. */
  readonly path?: string;
}

export class TrainingServer {
  readonly name: string;
  readonly tokenizerId: string;
  readonly text: SampledText;
  readonly architecture: Architecture;
  readonly queue: EngineQueue;
  readonly weights: WeightsStore;
  readonly #options: TrainingServerOptions;
  readonly #closing = new AbortController();
  readonly #sessions = new Map<string, Session>();
  readonly #models = new Map<string, TrainedModel>();
  readonly #samplers = new Map<string, Sampler>();

  constructor(options: TrainingServerOptions) {
    const { engine, text, name, tokenizerId, weights } = options;
    this.#options = options;
    this.name = name;
    this.tokenizerId = tokenizerId;
    this.architecture = engine.architecture;
    const { contextLength, vocabularySize } = engine.architecture.config;
    this.text = { ...text, contextLength, vocabularySize };
    this.queue = new EngineQueue(engine);
    this.weights = new WeightsStore(weights);
  }

  /** Aborted when the server closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Throws a `Refusal` for another base model. */
  assertBase(name: string): void {
    if ([this.name, ...this.#options.aliases].includes(name)) return;
    throw new Refusal(`this server has the model ${this.name}, not ${JSON.stringify(name)}`);
  }

  openSession(metadata: Session['metadata']): string {
    this.#forgetSessions();
    const id = randomUUID();
    this.#sessions.set(id, { lastHeard: Date.now(), metadata });
    return id;
  }

  /** Notes that a session is alive. Throws a `Refusal` for an unknown one. */
  hear(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw new Refusal(`there is no session ${id}; perhaps the server was restarted`, 404);
    session.lastHeard = Date.now();
    return session;
  }

  /** The ids of the models and samplers of a session. */
  contentsOf(session: string): { readonly models: string[]; readonly samplers: string[] } {
    const ofSession = (ids: Iterable<string>) => [...ids].filter((id) => id.startsWith(`${session}:`));
    return { models: ofSession(this.#models.keys()), samplers: ofSession(this.#samplers.keys()) };
  }

  /** Throws a `Refusal` for an unknown model. */
  model(id: string): TrainedModel {
    const found = this.#models.get(id);
    if (!found) throw new Refusal(`there is no model ${id}; perhaps it was unloaded, or the server was restarted`, 404);
    found.lastRequest = Date.now();
    this.hear(found.session);
    return found;
  }

  findModel(id: string): TrainedModel | undefined {
    return this.#models.get(id);
  }

  /** Makes a model. Called by the queue. Throws a `Refusal` if there are too many. */
  createModel(
    session: string,
    number: number,
    lora: NonNullable<CreateModelRequest['lora_config']>,
    metadata: WeightsDescription['user_metadata'],
  ): TrainedModel {
    const id = modelId(session, number);
    if (this.#models.has(id)) throw new Refusal(`there is already a model ${id}`);
    this.#makeRoom();
    const { rank, train_mlp, train_attn } = lora;
    const model = this.#options.engine.create(loraSettings(this.architecture, lora), lora.seed ?? 0);
    const described = { base_model: this.name, rank, train_mlp, train_attn, user_metadata: metadata };
    const made = { id, session, model, described, lastRequest: Date.now() };
    this.#models.set(id, made);
    return made;
  }

  /** A model with saved weights. Called by the queue. */
  async loadModel(
    session: string,
    number: number,
    saved: SavedWeights,
    { optimizer, metadata }: { readonly optimizer: boolean; readonly metadata: WeightsDescription['user_metadata'] },
  ): Promise<TrainedModel> {
    const { rank, train_mlp, train_attn } = saved;
    const made = this.createModel(session, number, { rank, train_mlp, train_attn, train_unembed: true }, metadata);
    try {
      await made.model.load(saved.folder, { weightsOnly: !optimizer });
      return made;
    } catch (error) {
      this.unload(made.id);
      throw error;
    }
  }

  unload(id: string): void {
    this.model(id).model.dispose();
    this.#models.delete(id);
    this.#options.engine.trim([...this.#samplers.values()].flatMap(({ weights }) => weights ?? []));
  }

  addSampler(session: string, number: number, sampler: Omit<Sampler, 'id'>): Sampler {
    const id = samplerId(session, number);
    const added = { ...sampler, id };
    this.#samplers.delete(id);
    this.#samplers.set(id, added);
    const inMemory = [...this.#samplers.values()].filter(({ weights }) => weights);
    for (const old of inMemory.slice(0, -MOST_IN_MEMORY)) {
      if (old.path === undefined) this.#samplers.delete(old.id);
      else old.weights = undefined;
    }
    return added;
  }

  /** Throws a `Refusal` for an unknown sampler. */
  sampler(id: string): Sampler {
    const found = this.#samplers.get(id);
    const session = this.#sessions.get(sessionOf(id));
    if (session) session.lastHeard = Date.now();
    if (found) return found;
    const kept = `only the newest ${MOST_IN_MEMORY} without a name are kept; save_weights_for_sampler with a name keeps weights permanently`;
    throw new Refusal(`there is no sampler ${id}: ${kept}`, 404);
  }

  /** The log-probabilities of a text. Called by the queue. */
  async score(
    weights: LoraWeights | undefined,
    text: readonly number[],
    options: TextLogprobsOptions,
  ): Promise<TextLogprobs> {
    const [scored] = await this.#options.engine.policy(weights).textLogprobs!([text], options);
    return scored!;
  }

  /** The weights that a sampler uses. */
  async weightsOf(sampler: Omit<Sampler, 'id'>): Promise<LoraWeights | undefined> {
    const { weights, path } = sampler;
    return weights ?? (path === undefined ? undefined : await this.readWeights(path));
  }

  /** Reads saved weights to sample with. Throws a `Refusal` if there are none. */
  async readWeights(path: string): Promise<LoraWeights> {
    const saved = await this.weights.find(path);
    return await this.queue.run(() => this.#read(saved));
  }

  async #read({ rank, train_mlp, train_attn, folder }: SavedWeights): Promise<LoraWeights> {
    const lora = { rank, train_mlp, train_attn, train_unembed: true };
    const model = this.#options.engine.create(loraSettings(this.architecture, lora), 0);
    try {
      await model.load(folder, { weightsOnly: true });
      return model.weights();
    } finally {
      model.dispose();
    }
  }

  /** Cancels sampling, waits for other computations, and frees memory. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.queue.idle();
    this.#options.engine.dispose();
  }

  /** Sessions cost little, but a server may run for months. */
  #forgetSessions(): void {
    for (const [id, { lastHeard }] of this.#sessions) {
      const { models, samplers } = this.contentsOf(id);
      if (models.length > 0 || Date.now() - lastHeard < LONG_SILENCE) continue;
      for (const sampler of samplers) this.#samplers.delete(sampler);
      this.#sessions.delete(id);
    }
  }

  /** Unloads models of sessions that are over, if there is no room for another. */
  #makeRoom(): void {
    const { maxModels } = this.#options;
    const isOver = ({ session }: TrainedModel) => Date.now() - this.#sessions.get(session)!.lastHeard > SILENCE;
    for (const { id, model } of [...this.#models.values()].filter(isOver)) {
      if (this.#models.size < maxModels) break;
      model.dispose();
      this.#models.delete(id);
    }
    if (this.#models.size >= maxModels)
      throw new Refusal(
        `this server trains ${maxModels} models at a time: unload one, or end the program that trains it`,
      );
  }
}

export const modelId = (session: string, number: number) => `${session}:train:${number}`;
const sessionOf = (id: string) => id.slice(0, id.indexOf(':'));
export const samplerId = (session: string, number: number) => `${session}:sample:${number}`;

/** Throws a `Refusal`. */
function loraSettings(
  { parameters }: Architecture,
  {
    rank,
    train_mlp,
    train_attn,
  }: Pick<NonNullable<CreateModelRequest['lora_config']>, 'rank' | 'train_mlp' | 'train_attn'>,
): LoraSettings {
  const all = { r: rank, alpha: ALPHA, targetModules: 'all-linear' };
  if (train_mlp && train_attn) return all;
  const layers = parameters.filter(({ kind }) => kind === 'linear').map(({ name }) => name.replace(/\.weight$/, ''));
  const targetModules = layers.filter((name) => (isMlp(name) ? train_mlp : train_attn));
  if (targetModules.length === 0)
    throw new Refusal(
      'nothing to train: this server has adapters of attention and MLP layers, none of the output layer',
    );
  return { ...all, targetModules };
}

const isMlp = (layer: string) => /\.(mlp|feed_forward)\./.test(layer);
