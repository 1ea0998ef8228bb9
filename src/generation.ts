// Sampling and rollouts: what a policy is, and the generator that plays episodes with it.
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
}

export interface GenerateOptions {
  /** Trajectories for each example: the group size G. */
  readonly samplesPerExample: number;
  /** The same seed and examples give the same trajectories. */
  readonly seed: number;
  readonly signal?: AbortSignal;
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
  /** Milliseconds that one call of an environment may take. One that never gives up the thread cannot be stopped. @default 10_000 */
  readonly stepTimeout?: number;
  /** Milliseconds that an environment may take in all of an episode; the policy's time does not count. @default 60_000 */
  readonly episodeTimeout?: number;
  /** How often an episode that ended as `error` or `timeout` is played again, from another seed. @default 0 */
  readonly retries?: number;
  /** Throw `EPISODE_FAILED` for the first episode that ends as `error` or `timeout`. @default false */
  readonly failFast?: boolean;
}

/** An episode that is to be played. */
interface Assignment<E> {
  readonly example: E;
  readonly seed: number;
}

/**
 * Plays episodes in step: every unfinished episode takes its turn in one batch, so that the order of events, and with it
 * every random number, depends on nothing but the seed. Environments get frozen copies of their examples.
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
    const { samplesPerExample, seed, signal } = options;
    const { retries = 0 } = this.#options;
    const assignments = examples.flatMap((given, problem) => {
      const example = frozenCopy(given);
      const seedOf = (sample: number) => streamSeed(seed, problem, sample);
      return Array.from({ length: samplesPerExample }, (_, sample) => ({ example, seed: seedOf(sample) }));
    });
    const trajectories = await this.#play(assignments, policy, signal);
    for (let attempt = 1; attempt <= retries && !signal?.aborted; attempt++) {
      const failed = [...trajectories.keys()].filter((i) => hasFailed(trajectories[i]!));
      const again = failed.map((i) => ({
        ...assignments[i]!,
        seed: streamSeed(assignments[i]!.seed, 'retry', attempt),
      }));
      const played = await this.#play(again, policy, signal);
      for (const [j, i] of failed.entries()) trajectories[i] = { ...played[j]!, retries: attempt };
    }
    const counted = retries > 0 ? trajectories.map((trajectory) => ({ retries: 0, ...trajectory })) : trajectories;
    return examples.map((_, problem) => counted.slice(problem * samplesPerExample, (problem + 1) * samplesPerExample));
  }

  async #play(
    assignments: readonly Assignment<E>[],
    policy: Policy,
    signal: AbortSignal | undefined,
  ): Promise<Trajectory[]> {
    const { maxTurns = 1, stepTimeout = 10_000, episodeTimeout = 60_000 } = this.#options;
    const limits = { step: stepTimeout, episode: episodeTimeout };
    const episodes = assignments.map(({ seed }) => new Episode(seed, limits));
    await inTurn(episodes.entries(), ([i, episode]) => episode.start(this.#builder, assignments[i]!.example));
    this.#assertNoneFailed(episodes);
    for (let turn = 0; turn < maxTurns; turn++) {
      const active = episodes.filter(({ isOver }) => !isOver);
      if (active.length === 0) break;
      await this.#turn(active, turn, policy, signal);
      this.#assertNoneFailed(active);
    }
    await inTurn(episodes, (episode) => episode.end());
    this.#assertNoneFailed(episodes);
    return episodes.map((episode) => episode.trajectory());
  }

  async #turn(
    episodes: readonly Episode[],
    turn: number,
    policy: Policy,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { maxTokens, maxEpisodeTokens = policy.contextLength } = this.#options;
    const limit = Math.min(policy.contextLength, maxEpisodeTokens);
    const acting = episodes.flatMap((episode) => {
      const promptIds = episode.prompt(this.#renderer, limit);
      return promptIds ? [{ episode, promptIds }] : [];
    });
    if (acting.length === 0) return;
    const completions = await policy.sample(
      acting.map(({ episode, promptIds }) => ({
        promptIds,
        seed: streamSeed(episode.seed, turn),
        maxTokens: Math.min(maxTokens, limit - promptIds.length),
      })),
      { ...samplingOf(this.#options), stopIds: this.#renderer.stopIds, ...(signal && { signal }) },
    );
    await inTurn(acting.entries(), ([i, { episode, promptIds }]) => {
      const { ids, logprobs, finishReason } = completions[i]!;
      const cut = ({ stop: undefined, length: 'max_tokens', cancelled: 'cancelled' } as const)[finishReason];
      return episode.act({ promptIds, completionIds: ids, logprobs }, this.#renderer, cut);
    });
  }

  #assertNoneFailed(episodes: readonly Episode[]): void {
    const { failFast = false } = this.#options;
    const error = failFast ? episodes.find((episode) => episode.error)?.error : undefined;
    if (!error) return;
    throw new GradusError('EPISODE_FAILED', `an episode failed: ${error.message.replaceAll(/\s+/g, ' ')}`, {
      hint: 'mend the environment (gradus env check plays it), or set rollout.strategy to retry or min_viable',
      path: 'rollout.strategy',
      kind: 'failed',
    });
  }
}

/** Milliseconds of blocking after which others that are done may say so. */
const longBlock = 1;

/** Begins one after another and waits for all. The time that one blocks the thread for counts for none that is done before. */
async function inTurn<T>(items: Iterable<T>, play: (item: T) => Promise<void>): Promise<void> {
  const playing: Promise<void>[] = [];
  for (const item of items) {
    const start = performance.now();
    playing.push(play(item));
    if (performance.now() - start > longBlock) await new Promise((done) => setTimeout(done, 0));
  }
  await Promise.all(playing);
}

function hasFailed({ stopReason }: Trajectory): boolean {
  return stopReason === 'error' || stopReason === 'timeout';
}

/** Those of the options that are the policy's. */
function samplingOf(options: RolloutOptions): Omit<SamplingOptions, 'stopIds' | 'signal'> {
  const { maxTurns, maxEpisodeTokens, stepTimeout, episodeTimeout, retries, failFast, ...sampling } = options;
  return sampling;
}
