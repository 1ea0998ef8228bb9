// Scoring: what a reward model is, and the reward functions that users write.
import type { Message } from './message.ts';
import type { Example, Reward, Trajectory } from './rl.ts';

/** Scores the trajectories of one example together, so that a reward may compare them. */
export interface RewardModel<E extends Example = Example> {
  score(example: E, trajectories: readonly Trajectory[]): Promise<Reward[]>;
}

/** What a reward function is given: columns of equal length, one entry a completion. TRL's names in TypeScript's spelling. */
export interface RewardInput {
  /** The conversation each completion continues. */
  readonly prompts: readonly (readonly Message[])[];
  /** The text that was generated; the last turn's, in an episode of several. */
  readonly completions: readonly string[];
  readonly completionIds: readonly (readonly number[])[];
  /** Every column of the data set under its own name, for example `answer`. */
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
  /** Logs a further number; its mean over the step appears among the metrics under this name. */
  readonly log: (name: string, value: number) => void;
}

/** One score a completion; `null` where the reward does not apply. Throwing means failure, which is recorded and never scored. */
export type RewardFunction = (input: RewardInput) => readonly (number | null)[] | Promise<readonly (number | null)[]>;

/** A reward function with its name in the metrics and its weight in the sum. */
export interface WeightedReward {
  readonly name: string;
  /** @default 1 */
  readonly weight?: number;
  readonly score: RewardFunction;
}
