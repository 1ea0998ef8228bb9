// Scoring: what a reward model is, and the reward functions that users write.
import type { Message } from './message.ts';
import type { Example, Reward, Trajectory } from './rl.ts';

/** Scores the trajectories of one example together, so that a reward may compare them. */
export interface RewardModel<E extends Example = Example> {
  /** @param progress of the run that asks; absent where none does */
  score(example: E, trajectories: readonly Trajectory[], progress?: Progress): Promise<Reward[]>;
}

/** How far a run is. */
export interface Progress {
  /** Steps made. */
  readonly step: number;
  /** Steps in all. */
  readonly maxSteps: number;
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
  /** Of the run; absent where nothing is trained, as in tests of rewards. TRL's `trainer_state`. */
  readonly progress?: Progress;
  /** Logs a further number; its mean over the step appears among the metrics under this name. */
  readonly log: (name: string, value: number) => void;
}

/** One score a completion; `null` where the reward does not apply. Throwing means failure, which is recorded and never scored. */
export type RewardFunction = (input: RewardInput) => readonly (number | null)[] | Promise<readonly (number | null)[]>;

/** What a reward function is asked about. */
export type Judged = Omit<RewardInput, 'log'>;

/** What went wrong, and where in the user's code. */
export interface Fault {
  readonly message: string;
  readonly stack?: string;
}

/** What one call of a reward function came to: for each completion a score, `null` or a fault, or else the fault of all. */
export type RewardOutcome =
  | {
      readonly scores: readonly (number | null | Fault)[];
      readonly metrics: Readonly<Record<string, number>>;
      /** What is kept beside each completion, by names: TRL's `log_extra`. */
      readonly extra?: Readonly<Record<string, readonly unknown[]>>;
    }
  | { readonly fault: Fault };

/** A reward function that is called elsewhere, in another process, where it can be stopped. */
export interface RemoteReward {
  /**
   * Never throws.
   * @param timeLimit milliseconds that the function may take, not counting what it waits for its turn
   */
  call(judged: Judged, timeLimit: number): Promise<RewardOutcome>;
}

/** A reward with its name in the metrics and its weight in the sum. */
export interface NamedReward {
  readonly name: string;
  /** @default 1 */
  readonly weight?: number;
  readonly score: RewardFunction | RemoteReward;
}

/** One that is called in this process. */
export interface WeightedReward extends NamedReward {
  readonly score: RewardFunction;
}
