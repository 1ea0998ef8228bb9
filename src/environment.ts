// What a configuration's environment may be besides a builder of episodes: it may bring its problems, its scores and the right turns.
import type { Message } from './message.ts';
import type { EnvBuilder, EpisodeScore, Example, Trajectory } from './rl.ts';

export interface Environment<E extends Example = Example> extends EnvBuilder<E> {
  /**
   * The names of all parts that its episodes and groups are scored in. The first decides what is correct: an episode to which it gives at
   * least 1. @default none: rewards judge
   */
  readonly scores?: readonly string[];
  /** Scores that compare the episodes of a group: further parts, a record for each trajectory in order. */
  scoreGroup?(
    example: E,
    trajectories: readonly Trajectory[],
  ): readonly EpisodeScore[] | Promise<readonly EpisodeScore[]>;
  /** Its own problems, in place of a data set's; asked for once. The same seed gives the same. */
  buildDataset?(request: { readonly seed: number }): Dataset<E> | Promise<Dataset<E>>;
  /** The turns of a policy that does everything right, for checks without a model. */
  gold?(example: E): Turns | Promise<Turns>;
}

/** What a policy says, turn by turn. */
export type Turns = readonly (string | Message)[];

export interface Dataset<E extends Example = Example> {
  readonly train: readonly E[];
  /** Held out. @default some of `train`, as of a data set */
  readonly eval?: readonly E[];
}
