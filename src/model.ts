// What the loop needs of a model: a policy to sample from, log-probabilities of sequences, and updates of its weights.
import type { Policy } from './generation.ts';

/** One sequence to learn from. `completionIds`, `mask` and the log-probabilities have equal lengths. */
export interface TrainingSequence {
  /** Context that is read but not learnt; sequences of a group share it. */
  readonly promptIds: readonly number[];
  readonly completionIds: readonly number[];
  /** True for the tokens that the policy sampled; observations between its turns are false. */
  readonly mask: readonly boolean[];
  /** Log-probabilities under the weights that the update starts from; absent on the first update of a batch, where the ratio is 1. */
  readonly oldLogprobs?: readonly number[];
  /** Log-probabilities as the sampler told them; needed where the loss corrects for its roundings. */
  readonly samplerLogprobs?: readonly number[];
  /** Log-probabilities under the frozen reference; needed where beta > 0 or KL is logged. */
  readonly referenceLogprobs?: readonly number[];
  readonly advantage: number;
}

/** The sequences of one optimiser step. */
export interface TrainingBatch {
  readonly sequences: readonly TrainingSequence[];
}

export interface UpdateResult {
  /** Training metrics under TRL's names: loss, grad_norm, learning_rate, entropy, kl, clip_ratio/…. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Log-probability of each completion token under the weights before this update. */
  readonly logprobs: readonly (readonly number[])[];
}

export interface Model {
  /** Samples with the weights as they are at each call. */
  policy(): Policy;
  /** Log-probabilities of completion tokens: under the current weights, or under the frozen ones they started from. */
  logprobs(sequences: readonly TrainingSequence[], weights: 'current' | 'reference'): Promise<number[][]>;
  /** Whether updates find out by themselves what the frozen weights say, so that `referenceLogprobs` need not be given. @default false */
  readonly scoresReference?: boolean;
  /** One optimiser step. */
  update(batch: TrainingBatch, options: { readonly learningRate: number }): Promise<UpdateResult>;
  /** One optimiser step towards the completions themselves, whatever their advantages; absent where a model learns from scores alone. */
  updateSupervised?(batch: TrainingBatch, options: { readonly learningRate: number }): Promise<UpdateResult>;
}
