// Reinforcement learning: environments, and the trajectories and rewards that come of them. No chat template and no tensor in sight.
import { GradusError } from './errors.ts';
import type { Message, ToolSpec } from './message.ts';

/** One problem: a row of a data set. */
export type Example = Readonly<Record<string, unknown>>;

/** What a policy sees before it acts. */
export interface State {
  /** The whole conversation so far. Without a chat template it is one user message, taken as plain text. */
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  /** Whether the policy learns from what it does next; not from turns that only serve to judge earlier ones. @default true */
  readonly trained?: boolean;
}

/** What a policy did in one turn. */
export interface Action {
  readonly message: Message;
  /** Tool calls that could not be read, each with what is wrong with it. */
  readonly parseErrors?: readonly string[];
}

/** The end of an episode for a reason that only its environment knows. */
export interface End {
  readonly stopReason: 'completed' | 'max_tool_calls' | 'parse_error';
}

/**
 * One episode of one problem. Single use: `start` once, then `step` with each action until it answers `null` or an `End`, which ends the episode.
 * An exception ends the episode as an error, recorded on its trajectory; it never disturbs another.
 */
export interface Env {
  start(): State | Promise<State>;
  step(action: Action): State | End | null | Promise<State | End | null>;
  /**
   * What the episode was worth, in parts by their names; `null` where a part does not apply. Asked once when the episode is over,
   * unless it ended as `error` or `cancelled`. Environments without it leave the judgement to rewards.
   */
  score?(): EpisodeScore | Promise<EpisodeScore>;
  /** Numbers about the episode to log, asked for when it is over. */
  metrics?(): Readonly<Record<string, number>>;
}

export type EpisodeScore = Readonly<Record<string, number | null>>;

export interface EnvBuilder<E extends Example = Example> {
  build(example: E): Env | Promise<Env>;
}

export const stopReasons = [
  'completed',
  'max_turns',
  'max_tokens',
  'max_tool_calls',
  'parse_error',
  'context_overflow',
  'timeout',
  'error',
  'cancelled',
] as const;

/**
 * Why an episode ended: its environment said so (`completed`, `max_tool_calls`, `parse_error`), a limit on turns or tokens was reached, its
 * environment took too long or threw, or everything was stopped.
 */
export type StopReason = (typeof stopReasons)[number];

/** The tokens of one turn; `completionIds` and `logprobs` have equal lengths. */
export interface TurnTokens {
  /** Everything the model had read when it began to act. */
  readonly promptIds: readonly number[];
  /** What it sampled, its end token included. */
  readonly completionIds: readonly number[];
  /** Log-probability of each sampled token under the distribution it was drawn from (after temperature and filters). */
  readonly logprobs: readonly number[];
}

/** Whether what a model is to read goes on from what it read and wrote before. Throws `RENDERING_CHANGED_PREFIX`. */
export function assertGoesOn({ promptIds, completionIds }: TurnTokens, next: readonly number[]): void {
  const read = promptIds.length;
  const kept =
    next.length >= read + completionIds.length &&
    promptIds.every((id, i) => next[i] === id) &&
    completionIds.every((id, i) => next[read + i] === id);
  if (kept) return;
  throw new GradusError(
    'RENDERING_CHANGED_PREFIX',
    'a later turn does not begin with what the model had read and written',
    {
      hint: 'add messages to the conversation and hand on those of the model as they are; use a chat template that keeps them',
    },
  );
}

export interface Step {
  readonly state: State;
  readonly action: Action;
  readonly tokens: TurnTokens;
}

/** One episode as it happened. */
export interface Trajectory {
  readonly steps: readonly Step[];
  readonly stopReason: StopReason;
  /** What went wrong, where the reason is `error` or `timeout`. */
  readonly error?: { readonly message: string; readonly stack?: string };
  /** What its environment judged, if it judges. */
  readonly scores?: EpisodeScore;
  /** What its environment wanted logged. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** How often it was played before, in vain. */
  readonly retries?: number;
}

/** Whether an episode says something about its policy: it acted, and neither its environment nor a signal broke the episode off. */
export function wasPlayed({ steps, stopReason }: Trajectory): boolean {
  return steps.length > 0 && stopReason !== 'error' && stopReason !== 'timeout' && stopReason !== 'cancelled';
}

/** The verdict on one trajectory. */
export interface Reward {
  /** The sum that training uses; `null` if no part applied or a part failed: such a trajectory is left out of its group. */
  readonly score: number | null;
  /** Each reward function's own value, unweighted; `null` where it did not apply. */
  readonly parts: Readonly<Record<string, number | null>>;
  /** Why a part has no value, by its name. */
  readonly errors?: Readonly<Record<string, string>>;
  /** Where in the user's code, for those of which that is known. */
  readonly stacks?: Readonly<Record<string, string>>;
  /** What rewards wanted kept beside the completion, by names. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Further numbers that rewards wanted logged; averaged over a step. */
  readonly metrics?: Readonly<Record<string, number>>;
}

/** The trajectories of one example, which are compared with one another. */
export interface Group<E extends Example = Example> {
  /** Unique in a run. */
  readonly id: string;
  readonly example: E;
  readonly trajectories: readonly Trajectory[];
  readonly rewards: readonly Reward[];
}

/**
 * What a group is good for:
 * - `mixed`: its scores differ, so that it teaches something;
 * - `all_good`, `all_bad`: they are all equal, and at least 0.5 or less;
 * - `unscored`: no reward applies to two of its trajectories, and there is nothing to compare;
 * - `truncated`: all of its trajectories were cut off, and such are masked;
 * - `error`: failures left fewer than two scores.
 */
export type GroupReason = 'mixed' | 'all_good' | 'all_bad' | 'unscored' | 'truncated' | 'error';

/** `kept`: part of the update. `resampled`: a fresh problem took its place. `dropped`: neither. */
export type GroupFate = 'kept' | 'dropped' | 'resampled';

/** A group and what became of it. */
export interface GroupOutcome<E extends Example = Example> extends Group<E> {
  readonly fate: GroupFate;
  readonly reason: GroupReason;
  /** One a trajectory; 0 where nothing is learnt. */
  readonly advantages: readonly number[];
}

/** What was said in an episode behind its first prompt: the policy's turns and what it was answered. */
export function exchange({ steps }: Trajectory): Message[] {
  const last = steps.at(-1);
  return last ? [...last.state.messages.slice(steps[0]!.state.messages.length), last.action.message] : [];
}

/** The text that a trajectory's last action said. */
export function finalText(trajectory: Trajectory): string {
  return trajectory.steps.at(-1)?.action.message.content ?? '';
}
