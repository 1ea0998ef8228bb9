// Sampling and rollouts: what a policy is, and the generator that plays episodes with it.
import { messageOf } from './errors.ts';
import { streamSeed } from './random.ts';
import type { Renderer } from './rendering.ts';
import type { Env, EnvBuilder, EpisodeScore, Example, State, Step, StopReason, Trajectory } from './rl.ts';

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
}

interface Episode {
  readonly seed: number;
  readonly steps: Step[];
  env?: Env;
  state?: State;
  stopReason?: StopReason;
  error?: NonNullable<Trajectory['error']>;
  scores?: EpisodeScore;
  metrics?: Readonly<Record<string, number>>;
}

/**
 * Plays episodes in step: every unfinished episode takes its turn in one batch, so that the order of events, and with it
 * every random number, depends on nothing but the seed.
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
    const groups = examples.map((example, problem) =>
      Array.from({ length: options.samplesPerExample }, (_, sample) => ({
        example,
        episode: { seed: streamSeed(options.seed, problem, sample), steps: [] } as Episode,
      })),
    );
    const all = groups.flat();
    await Promise.all(all.map(({ example, episode }) => this.#start(episode, example)));
    const { maxTurns = 1 } = this.#options;
    for (let turn = 0; turn < maxTurns; turn++) {
      const active = all.map(({ episode }) => episode).filter((episode) => !episode.stopReason);
      if (active.length === 0) break;
      await this.#turn(active, turn, policy, options.signal);
    }
    await Promise.all(all.map(({ episode }) => this.#end(episode)));
    return groups.map((group) => group.map(({ episode }) => finished(episode)));
  }

  async #start(episode: Episode, example: E): Promise<void> {
    await guard(episode, async () => {
      episode.env = await this.#builder.build(example);
      episode.state = await episode.env.start();
    });
  }

  /** Asks the environment what it makes of an episode that is over. */
  async #end(episode: Episode): Promise<void> {
    if (episode.stopReason === 'error' || episode.stopReason === 'cancelled') return;
    await guard(episode, async () => {
      const metrics = episode.env!.metrics?.();
      const scores = await episode.env!.score?.();
      if (metrics) episode.metrics = metrics;
      if (scores) episode.scores = scores;
    });
  }

  async #turn(
    episodes: readonly Episode[],
    turn: number,
    policy: Policy,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const prompts = new Map<Episode, readonly number[]>();
    for (const episode of episodes) {
      await guard(episode, async () => {
        const { ids } = this.#renderer.render(episode.state!);
        if (ids.length >= policy.contextLength) episode.stopReason = 'context_overflow';
        else prompts.set(episode, ids);
      });
    }
    const acting = [...prompts.keys()];
    if (acting.length === 0) return;
    const { maxTurns: _, ...sampling } = this.#options;
    const completions = await policy.sample(
      acting.map((episode) => ({
        promptIds: prompts.get(episode)!,
        seed: streamSeed(episode.seed, turn),
        maxTokens: Math.min(sampling.maxTokens, policy.contextLength - prompts.get(episode)!.length),
      })),
      { ...sampling, stopIds: this.#renderer.stopIds, ...(signal && { signal }) },
    );
    await Promise.all(
      acting.map((episode, i) =>
        guard(episode, async () => {
          const { ids, logprobs, finishReason } = completions[i]!;
          const action = this.#renderer.parse(ids);
          const tokens = { promptIds: prompts.get(episode)!, completionIds: ids, logprobs };
          episode.steps.push({ state: episode.state!, action, tokens });
          if (finishReason === 'cancelled') {
            episode.stopReason = 'cancelled';
            return;
          }
          // A truncated turn ends its episode: the environment still sees it, but what it would answer is not asked of the policy.
          const next = await episode.env!.step(action);
          if (finishReason === 'length') episode.stopReason = 'max_tokens';
          else if (next === null) episode.stopReason = 'completed';
          else if ('stopReason' in next) episode.stopReason = next.stopReason;
          else episode.state = next;
        }),
      ),
    );
  }
}

/** An exception in user code ends its own episode and no other. */
async function guard(episode: Episode, play: () => Promise<void>): Promise<void> {
  try {
    await play();
  } catch (error) {
    episode.stopReason = 'error';
    episode.error = { message: messageOf(error), ...(error instanceof Error && error.stack && { stack: error.stack }) };
  }
}

function finished({ steps, stopReason = 'max_turns', error, scores, metrics }: Episode): Trajectory {
  return { steps, stopReason, ...(error && { error }), ...(scores && { scores }), ...(metrics && { metrics }) };
}
