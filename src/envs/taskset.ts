// Task sets: problems that are made up, as many as needed, with some kept for evaluation.
import type { WeightedReward } from '../rewards.ts';
import type { Example } from '../rl.ts';

export interface Taskset {
  /**
   * Problems in an order that depends on `seed` alone, without repetition while there are more. No problem is ever in both splits,
   * whatever the seeds. `train` then begins anew; `eval` ends, so that no problem counts twice, and may give fewer than `count`.
   * A task set of a single problem cannot hold it out: it repeats it, and each row is one more trial of the same problem.
   */
  rows(split: 'train' | 'eval', count: number, seed: number): Example[];
  /** How answers are scored where a configuration names no reward. @default a configuration must name one */
  readonly rewards?: readonly WeightedReward[];
  /** Where every answer is a list of whole numbers of one length: what a policy that knows no text needs. @default answers are text */
  readonly answers?: AnswerShape;
}

/** `length` whole numbers from 0 to `vocabulary` − 1, written with a space between each two. */
export interface AnswerShape {
  readonly length: number;
  readonly vocabulary: number;
}
