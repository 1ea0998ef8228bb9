// The errors that end training or sampling if a number is NaN or infinite.
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

/** Thrown where the scores of a next token are no numbers and there is no batch that training could keep. */
export function scoresNotFinite(): GradusError {
  return new GradusError(
    codes['log-probability of a sampled token'],
    'the log-probability of a sampled token is not finite: the model’s weights give no probabilities',
    {
      hint: 'its files may be damaged: download it again; if it was trained, training diverged: lower learning_rate',
      kind: 'failed',
    },
  );
}
