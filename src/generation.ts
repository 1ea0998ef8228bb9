// Sampling and rollouts: what a policy is, and the generator that plays episodes with it.
import { converse, type Dialogue } from './dialogue.ts';
import { Episode } from './episode.ts';
import { GradusError } from './errors.ts';
import { frozenCopy } from './frozen-copy.ts';
import { streamSeed } from './random.ts';
import type { Renderer } from './rendering.ts';
import type { EnvBuilder, Example, Trajectory } from './rl.ts';

export interface SamplingOptions {
  /** The most tokens of one completion. */
  readonly maxTokens: number;
  /** Divides the logits; 0 takes the likeliest token. @default 1 */
  readonly temperature?: number;
  /** Keep the k likeliest tokens; 0 keeps all. @default 0 */
  readonly topK?: number;
  /** Keep the likeliest tokens that together reach this probability. @default 1 */
  readonly topP?: number;
  /** Drop tokens less likely than this fraction of the likeliest. @default 0 */
  readonly minP?: number;
  /** Tokens at which a completion ends; the one that ended it is its last. */
  readonly stopIds: ReadonlySet<number>;
  /** Asked after each token whether the completion ends with it; see `stopAtText`. @default never */
  readonly stopWhen?: (ids: readonly number[]) => boolean;
  /** Ends all completions early, with finish reason `cancelled`. */
  readonly signal?: AbortSignal;
}

/** Ends completions at any of some texts, wherever token borders lie. */
export function stopAtText(
  texts: readonly string[],
  decode: (ids: readonly number[]) => string,
): (ids: readonly number[]) => boolean {
  // A text of n bytes lies within the last n tokens, for each token holds at least one byte of it.
  const reach = Math.max(0, ...texts.map((text) => new TextEncoder().encode(text).length));
  return (ids) => {
    const tail = decode(ids.slice(-reach));
    return texts.some((text) => tail.includes(text));
  };
}

export interface SampleRequest {
  /** Requests with equal prompts share one reading of it. */
  readonly promptIds: readonly number[];
  /** Names this completion's own random stream, so that what else is in the batch changes nothing. */
  readonly seed: number;
  /** Where this completion may be shorter than the others. @default the options' maxTokens */
  readonly maxTokens?: number;
  /** Whether the next request of its dialogue may begin with this one and its completion: what was read for them is worth keeping. @default false */
  readonly goesOn?: boolean;
}

export interface Completion {
  readonly ids: readonly number[];
  /** Log-probability of each id under the distribution it was drawn from: after temperature, top-k, top-p and min-p. */
  readonly logprobs: readonly number[];
  /** Log-probability of each id under the model itself: temperature 1, no filter. */
  readonly plainLogprobs: readonly number[];
  readonly finishReason: 'stop' | 'length' | 'cancelled';
}

export interface Policy {
  /** The longest prompt and completion together, in tokens. */
  readonly contextLength: number;
  /** Completions in the order of the requests. */
  sample(requests: readonly SampleRequest[], options: SamplingOptions): Promise<Completion[]>;
  /**
   * Holds dialogues to their ends; `onEnd` is told what came of each. One whose completion has ended is given it at once, while others are still
   * sampled, and its next request is waited for at a time that depends on what was sampled alone. @default see `converse`
   */
  converse?<T>(
    dialogues: readonly Dialogue<T>[],
    options: SamplingOptions,
    onEnd: (result: T, index: number) => void,
  ): Promise<void>;
}

export interface GenerateOptions {
  /** Trajectories for each example: the group size G. */
  readonly samplesPerExample: number;
  /** The same seed and examples give the same trajectories. */
  readonly seed: number;
  readonly signal?: AbortSignal;
  /** Told of each group when it has been played, in order, while later ones still are. A generator may leave it out. */
  readonly onGroup?: (index: number, trajectories: readonly Trajectory[]) => void;
}

export interface Generator<E extends Example = Example> {
  /** One group of trajectories for each example, in order. */
  generate(examples: readonly E[], policy: Policy, options: GenerateOptions): Promise<Trajectory[][]>;
}

export interface RolloutOptions extends Omit<SamplingOptions, 'stopIds' | 'signal'> {
  /** The most policy turns of an episode. @default 1 */
  readonly maxTurns?: number;
  /** The most tokens of an episode, those that are read included. @default the policy's context */
  readonly maxEpisodeTokens?: number;
  /** Milliseconds that one call of an environment may take. One in this process that never gives up the thread cannot be stopped. @default 10_000 */
  readonly stepTimeout?: number;
  /** Milliseconds that an environment may take in all of an episode; the policy's time does not count. @default 60_000 */
  readonly episodeTimeout?: number;
  /** How often an episode that ended as `error` or `timeout` is played again, from another seed. @default 0 */
  readonly retries?: number;
  /** Throw `EPISODE_FAILED` for the first episode that ends as `error` or `timeout`. @default false */
  readonly failFast?: boolean;
}

/**
 * Plays every episode as a dialogue with the policy, which holds all of them at once: nothing but the seed decides what is sampled.
 * Environments get frozen copies of their examples.
 */
export class RolloutGenerator<E extends Example = Example> implements Generator<E> {
  readonly #builder: EnvBuilder<E>;
  readonly #renderer: Renderer;
  readonly #options: RolloutOptions;

  constructor(builder: EnvBuilder<E>, renderer: Renderer, options: RolloutOptions) {
    this.#builder = builder;
    this.#renderer = renderer;
    this.#options = options;
  }

  async generate(examples: readonly E[], policy: Policy, options: GenerateOptions): Promise<Trajectory[][]> {
    const { samplesPerExample, seed, signal, onGroup } = options;
    const { retries = 0 } = this.#options;
    const limit = Math.min(policy.contextLength, this.#options.maxEpisodeTokens ?? policy.contextLength);
    const episodes = examples.flatMap((given, problem) => {
      const example = frozenCopy(given);
      const seedOf = (sample: number) => streamSeed(seed, problem, sample);
      return Array.from({ length: samplesPerExample }, (_, sample) =>
        retries > 0
          ? this.#untilPlayed(example, seedOf(sample), limit, retries, signal)
          : this.#play(example, seedOf(sample), limit),
      );
    });
    const groups = examples.map(() => new Array<Trajectory>(samplesPerExample));
    const missing = examples.map(() => samplesPerExample);
    let told = 0;
    const sampling = { ...samplingOf(this.#options), stopIds: this.#renderer.stopIds, ...(signal && { signal }) };
    await converse(policy, episodes, sampling, (trajectory, index) => {
      const problem = Math.floor(index / samplesPerExample);
      groups[problem]![index % samplesPerExample] = trajectory;
      missing[problem]!--;
      for (; missing[told] === 0; told++) onGroup?.(told, groups[told]!);
    });
    return groups;
  }

  /** An episode, played again from other seeds while it fails and may be. */
  async *#untilPlayed(
    example: E,
    seed: number,
    limit: number,
    retries: number,
    signal?: AbortSignal,
  ): Dialogue<Trajectory> {
    for (let attempt = 0; ; attempt++) {
      const trajectory = yield* this.#play(example, attempt === 0 ? seed : streamSeed(seed, 'retry', attempt), limit);
      const again = hasFailed(trajectory) && attempt < retries && !signal?.aborted;
      if (!again) return { ...trajectory, retries: attempt };
    }
  }

  async *#play(example: E, seed: number, limit: number): Dialogue<Trajectory> {
    const { maxTurns = 1, maxTokens, stepTimeout = 10_000, episodeTimeout = 60_000 } = this.#options;
    const episode = new Episode(seed, { step: stepTimeout, episode: episodeTimeout });
    await episode.start(this.#builder, example);
    for (let turn = 0; turn < maxTurns && !episode.isOver; turn++) {
      const promptIds = episode.prompt(this.#renderer, limit);
      if (!promptIds) break;
      const { ids, logprobs, finishReason } = yield {
        promptIds,
        seed: streamSeed(episode.seed, turn),
        maxTokens: Math.min(maxTokens, limit - promptIds.length),
        goesOn: turn + 1 < maxTurns,
      };
      await episode.act({ promptIds, completionIds: ids, logprobs }, this.#renderer, cuts[finishReason]);
    }
    await episode.end();
    if (episode.error && this.#options.failFast) throw episodeFailed(episode.error);
    return episode.trajectory();
  }
}

function episodeFailed({ message }: NonNullable<Trajectory['error']>): GradusError {
  return new GradusError('EPISODE_FAILED', `an episode failed: ${message.replaceAll(/\s+/g, ' ')}`, {
    hint: 'mend the environment (gradus env check plays it), or set rollout.strategy to retry or min_viable',
    path: 'rollout.strategy',
    kind: 'failed',
  });
}

/** How completions that did not end by themselves end their turns. */
const cuts = { stop: undefined, length: 'max_tokens', cancelled: 'cancelled' } as const;

function hasFailed({ stopReason }: Trajectory): boolean {
  return stopReason === 'error' || stopReason === 'timeout';
}

/** Those of the options that are the policy's. */
function samplingOf(options: RolloutOptions): Omit<SamplingOptions, 'stopIds' | 'signal'> {
  const { maxTurns, maxEpisodeTokens, stepTimeout, episodeTimeout, retries, failFast, ...sampling } = options;
  return sampling;
}
