// Reward between 0 and 1 for the words that an answer shares with the gold answer.
import { z } from 'zod';
import type { RewardFunction } from '../scoring.ts';
import { compareWithGold } from './gold-answers.ts';
import { wordF1 } from './qa-text.ts';
import { xmlContent } from './sections.ts';

export interface F1Config {
  /** The column with the right answer, or a list of acceptable answers, of which the best match counts. @default 'answer' */
  readonly answer_column?: string;
  /** A column with a list of further acceptable answers. */
  readonly aliases_column?: string;
  /** The tag around the answer, for example `answer` for `<answer>…</answer>`; without that section the score is 0. @default the whole completion */
  readonly tag?: string;
}

export const f1Config: z.ZodType<F1Config> = z.strictObject({
  answer_column: z.string().exactOptional(),
  aliases_column: z.string().exactOptional(),
  tag: z.string().min(1).exactOptional(),
});

/** Word-level F1 as in the evaluation of SQuAD (arXiv:1606.05250), ignoring articles, punctuation and case; the best over all acceptable answers. */
export function f1(config: F1Config = {}): RewardFunction {
  const { answer_column = 'answer', aliases_column, tag } = config;
  return (input) =>
    compareWithGold(
      input,
      answer_column,
      (completion, gold) => {
        const answer = tag === undefined ? completion : xmlContent(completion, tag);
        return answer === undefined ? 0 : wordF1(answer, gold);
      },
      aliases_column,
    );
}
