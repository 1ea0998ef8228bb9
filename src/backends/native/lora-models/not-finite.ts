// The error for a LoRA model whose loss or gradient is NaN or infinite.
import { GradusError } from '../../../errors.ts';

/** The error for an update whose numbers are NaN or infinite. */
export function notFinite(what: 'loss' | 'gradient'): GradusError {
  return new GradusError(
    what === 'loss' ? 'LOSS_NOT_FINITE' : 'GRADIENT_NOT_FINITE',
    `the ${what} is not finite; nothing was changed`,
    {
      hint: 'check the log-probabilities, weights and advantages that were sent, and lower the learning rate',
      kind: 'failed',
    },
  );
}
