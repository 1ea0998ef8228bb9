// Comparing completions with the gold answers of their rows.
import { GradusError } from '../errors.ts';
import { existingNames } from '../nearest.ts';
import type { RewardInput } from '../rewards.ts';

/**
 * The score of each completion against the answer in its row, as text; `null` where the row's answer is null.
 * Throws `COLUMN_MISSING`, and `GOLD_ANSWER_INVALID` for an answer that is neither text nor a number.
 */
export function compareWithGold(
  { completions, columns }: RewardInput,
  column: string,
  compare: (completion: string, gold: string) => number,
): (number | null)[] {
  const golds = columns[column];
  if (golds === undefined) {
    throw new GradusError('COLUMN_MISSING', `the data set has no column ${JSON.stringify(column)}`, {
      hint: existingNames(column, Object.keys(columns)),
      path: 'answer_column',
    });
  }
  return completions.map((completion, i) => {
    const gold = golds[i];
    if (gold === null || gold === undefined) return null;
    if (typeof gold === 'string' || typeof gold === 'number') return compare(completion, String(gold));
    throw goldAnswerInvalid(column, `is neither text nor a number: ${JSON.stringify(gold)}`);
  });
}

export function goldAnswerInvalid(column: string, fault: string): GradusError {
  return new GradusError('GOLD_ANSWER_INVALID', `an answer in column ${JSON.stringify(column)} ${fault}`, {
    hint: 'mend the data, or name another column with answer_column',
    path: 'answer_column',
  });
}
