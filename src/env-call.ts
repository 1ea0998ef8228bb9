// One call of an environment's code, which may do anything: within its time, its answer checked, wherever it runs.
import { checkedAnswer, checkedMetrics, checkedScore, checkedState } from './environment-answers.ts';
import type { Action, End, Env, EpisodeScore, State } from './rl.ts';
import { withinTime } from './time-limits.ts';

/** What the methods of an `Env` answer; `undefined` is for those that it does not have. */
export interface EnvAnswers {
  readonly start: State;
  readonly step: State | End;
  readonly metrics: Readonly<Record<string, number>> | undefined;
  readonly score: EpisodeScore | undefined;
}

export interface Timed<T> {
  readonly answer: T;
  /** Milliseconds. */
  readonly took: number;
}

/** An episode that is played in another process, where it can be stopped, and which keeps the time there: waiting for its turn does not count. */
export interface RemoteEnv extends Env {
  /** Rejects as `callEnv` does. */
  callWithin<M extends keyof EnvAnswers>(timeLimit: number, method: M, action?: Action): Promise<Timed<EnvAnswers[M]>>;
  /** It will not be called again. */
  release(): void;
}

/**
 * Rejects with what the method throws, with `ENVIRONMENT_WRONG_ANSWER`, and with a `TimeLimitError`.
 * @param timeLimit milliseconds
 */
export async function callEnv<M extends keyof EnvAnswers>(
  env: Env,
  method: M,
  timeLimit: number,
  action?: Action,
): Promise<Timed<EnvAnswers[M]>> {
  if (isRemote(env)) return env.callWithin(timeLimit, method, action);
  const call = env[method] as ((action?: Action) => unknown) | undefined;
  const { answer, took } = await timed(() => call?.call(env, action), timeLimit, method);
  return { answer: (call ? checks[method](answer) : undefined) as EnvAnswers[M], took };
}

export async function timed<T>(work: () => T | PromiseLike<T>, timeLimit: number, what: string): Promise<Timed<T>> {
  const start = performance.now();
  const answer = await withinTime(work, timeLimit, what);
  return { answer, took: performance.now() - start };
}

export function isRemote(env: Env | undefined): env is RemoteEnv {
  return env !== undefined && 'callWithin' in env;
}

const checks: { readonly [M in keyof EnvAnswers]: (answer: unknown) => EnvAnswers[M] } = {
  start: checkedState,
  step: checkedAnswer,
  metrics: checkedMetrics,
  score: checkedScore,
};
