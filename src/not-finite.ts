// The error that ends training if a number is NaN or infinite.
import { GradusError } from './errors.ts';
import type { TrainingBatch } from './model.ts';

const codes = {
  loss: 'LOSS_NOT_FINITE',
  gradient: 'GRADIENT_NOT_FINITE',
  'log-probability of a sampled token': 'LOGPROB_NOT_FINITE',
} as const;

/** Thrown before any weight is changed. */
export class NotFiniteError extends GradusError {
  /** The batch in question, to be saved for inspection. */
  readonly batch: TrainingBatch;

  constructor(what: keyof typeof codes, batch: TrainingBatch) {
    super(codes[what], `the ${what} is not finite; no weight was changed`, {
      hint: 'lower learning_rate or max_grad_norm',
      kind: 'failed',
    });
    this.batch = batch;
  }
}
