// The rows of one step for TRL, which needs the same number in every step: missing rows are filled up with rows without trained tokens.
import { GradusError } from '../../errors.ts';
import type { TrainingSequence } from '../../training-model.ts';

export interface StepRow {
  readonly prompt_ids: readonly number[];
  readonly completion_ids: readonly number[];
  /** 1 for tokens that are trained on. */
  readonly mask: readonly (0 | 1)[];
  readonly logprobs: readonly number[];
  readonly advantage: number;
}

/** @param count the number of completions in a step */
export function stepRows(sequences: readonly TrainingSequence[], count: number): StepRow[] {
  const missing = count - sequences.length;
  if (missing < 0) {
    throw new GradusError('BATCH_TOO_LARGE', `a step of TRL holds ${count} sequences, not ${sequences.length}`, {
      hint: 'an agent whose calls branch makes a sequence of each branch: choose backend native, or train on fewer of its calls',
    });
  }
  const { promptIds } = sequences[0]!;
  const empty: StepRow = { prompt_ids: promptIds, completion_ids: [0], mask: [0], logprobs: [0], advantage: 0 };
  return [...sequences.map(rowOf), ...new Array<StepRow>(missing).fill(empty)];
}

function rowOf({ promptIds, completionIds, mask, samplerLogprobs, advantage }: TrainingSequence): StepRow {
  return {
    prompt_ids: promptIds,
    completion_ids: completionIds,
    advantage,
    mask: mask.map((isTrained) => (isTrained ? 1 : 0)),
    logprobs: samplerLogprobs ?? completionIds.map(() => 0),
  };
}
