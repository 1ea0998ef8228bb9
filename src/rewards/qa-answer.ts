// Which answers of a row count in question answering, and where a completion states its own.
import { z } from 'zod';
import type { Recorded } from '../common/recorded.ts';
import type { RewardFunction } from '../scoring.ts';
import { compareWithGold } from './gold-answers.ts';
import { xmlContent } from './sections.ts';

export const qaAnswerConfig = z.strictObject({
  /** The column with the right answer, or a list of acceptable answers, of which the best match counts. @default 'answer' */
  answer_column: z.string().exactOptional(),
  /** A column with a list of further acceptable answers. */
  aliases_column: z.string().exactOptional(),
  /** The tag around the answer, for example `answer` for `<answer>…</answer>`; without that section the score is 0. @default the whole completion */
  tag: z.string().min(1).exactOptional(),
});
export type QaAnswerConfig = Recorded<typeof qaAnswerConfig>;

/** A reward for the answer of a completion; the best score over all acceptable answers counts. */
export function qaReward(
  { answer_column = 'answer', aliases_column, tag }: QaAnswerConfig,
  compare: (answer: string, gold: string) => number,
): RewardFunction {
  const score = (completion: string, gold: string) => {
    const answer = tag === undefined ? completion : xmlContent(completion, tag);
    return answer === undefined ? 0 : compare(answer, gold);
  };
  return (input) => compareWithGold(input, answer_column, score, aliases_column);
}
