// One episode as it is played: whatever its environment does wrong ends it, is kept, and disturbs no other.
import { after, callEnv, isRemote, type Soon, type Timed, timed } from './env-call.ts';
import { checkedEnv } from './environment-answers.ts';
import { messageOf } from './errors.ts';
import type { Renderer } from './rendering.ts';
import {
  assertGoesOn,
  type Env,
  type EnvBuilder,
  type Example,
  type State,
  type Step,
  type StopReason,
  type Trajectory,
  type TurnTokens,
} from './rl.ts';
import { TimeLimitError } from './time-limits.ts';

export interface EpisodeLimits {
  /** Milliseconds that one call of the environment may take. */
  readonly step: number;
  /** Milliseconds that the environment may take in all; the policy's time does not count. */
  readonly episode: number;
}

/** No token of any vocabulary is as long on average: a text of more characters for each token that fits need not be tokenised. */
const longestToken = 64;

export class Episode {
  /** Names its random streams. */
  readonly seed: number;
  readonly #limits: EpisodeLimits;
  readonly #steps: Step[] = [];
  #spent = 0;
  #env: Env | undefined;
  #state: State | undefined;
  #stopReason: StopReason | undefined;
  #error: Trajectory['error'];
  #scores: Trajectory['scores'];
  #metrics: Trajectory['metrics'];

  constructor(seed: number, limits: EpisodeLimits) {
    this.seed = seed;
    this.#limits = limits;
  }

  /** What went wrong, if something did. */
  get error(): Trajectory['error'] {
    return this.#error;
  }

  get isOver(): boolean {
    return this.#stopReason !== undefined;
  }

  start<E extends Example>(builder: EnvBuilder<E>, example: E): Soon<void> {
    return this.#attempt(() => {
      const built = this.#ask((limit) => timed(() => builder.build(example), limit, 'build'));
      return after(built, (answer) => {
        const env = checkedEnv(answer);
        this.#env = env;
        const started = this.#ask((limit) => callEnv(env, 'start', limit));
        return after(started, (state) => {
          this.#state = state;
        });
      });
    });
  }

  /** What the policy reads before its next turn; `undefined` where that is as long as `limit` tokens, or cannot be rendered. */
  prompt(renderer: Renderer, limit: number): readonly number[] | undefined {
    try {
      const { messages } = this.#state!;
      const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
      if (characters < longestToken * limit) {
        const { ids } = renderer.render(this.#state!);
        const last = this.#steps.at(-1);
        if (last) assertGoesOn(last.tokens, ids);
        if (ids.length < limit) return ids;
      }
      this.#stopReason = 'context_overflow';
    } catch (error) {
      this.#fail(error);
    }
    return undefined;
  }

  /** A turn of the policy, which the environment answers; `cut` says what ended the turn early. */
  act(tokens: TurnTokens, renderer: Renderer, cut?: 'max_tokens' | 'cancelled'): Soon<void> {
    return this.#attempt(() => {
      const action = renderer.parse(tokens.completionIds, this.#state!.tools);
      this.#steps.push({ state: this.#state!, action, tokens });
      if (cut === 'cancelled') {
        this.#stopReason = cut;
        return;
      }
      const answered = this.#ask((limit) => callEnv(this.#env!, 'step', limit, action));
      return after(answered, (next) => {
        // The environment sees a turn that was cut off, but what it answers is not asked of the policy.
        if (cut) this.#stopReason = cut;
        else if ('stopReason' in next) this.#stopReason = next.stopReason;
        else this.#state = next;
      });
    });
  }

  /** Asks the environment what it makes of an episode that is over. */
  end(): Soon<void> {
    this.#stopReason ??= 'max_turns';
    const env = this.#env;
    const judges = env && (isRemote(env) || env.metrics || env.score);
    if (judges && !['error', 'timeout', 'cancelled'].includes(this.#stopReason)) return this.#judge(env);
    if (isRemote(env)) env.release();
  }

  trajectory(): Trajectory {
    return {
      steps: this.#steps,
      stopReason: this.#stopReason!,
      ...(this.#error && { error: this.#error }),
      ...(this.#scores && { scores: this.#scores }),
      ...(this.#metrics && { metrics: this.#metrics }),
    };
  }

  async #judge(env: Env): Promise<void> {
    try {
      [this.#metrics, this.#scores] = await Promise.all([
        this.#ask((limit) => callEnv(env, 'metrics', limit)),
        this.#ask((limit) => callEnv(env, 'score', limit)),
      ]);
    } catch (error) {
      this.#fail(error);
    }
    if (isRemote(env)) env.release();
  }

  /** Whatever fails ends the episode. */
  #attempt(work: () => Soon<void>): Soon<void> {
    try {
      const outcome = work();
      return outcome instanceof Promise ? outcome.catch((error) => this.#fail(error)) : outcome;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A call of the environment's code. */
  #ask<T>(call: (timeLimit: number) => Soon<Timed<T>>): Soon<T> {
    const { step, episode } = this.#limits;
    const left = episode - this.#spent;
    if (left <= 0) throw new TimeLimitError(`its calls took longer than ${episode / 1000} s in all`);
    return after(call(Math.min(step, left)), ({ answer, took }) => {
      this.#spent += took;
      return answer;
    });
  }

  #fail(error: unknown): void {
    this.#stopReason = error instanceof TimeLimitError ? 'timeout' : 'error';
    this.#error = { message: messageOf(error), ...(error instanceof Error && error.stack && { stack: error.stack }) };
  }
}
