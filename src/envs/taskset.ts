// Task sets: problems that are made up, as many as needed, with some kept for evaluation.
import type { Example } from '../rl.ts';

export interface Taskset {
  /**
   * Problems in an order that depends on `seed` alone, without repetition while there are more. No problem is ever in both splits,
   * whatever the seeds. `train` then begins anew; `eval` ends, so that no problem counts twice, and may give fewer than `count`.
   */
  rows(split: 'train' | 'eval', count: number, seed: number): Example[];
}
