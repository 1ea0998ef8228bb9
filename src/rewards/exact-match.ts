// Reward 1 if a completion is the answer and nothing else, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../scoring.ts';
import { compareWithGold } from './gold-answers.ts';
import { normaliseQaText } from './qa-text.ts';
import { xmlContent } from './sections.ts';

export interface ExactMatchConfig {
  /** The column with the right answer, or a list of acceptable answers. @default 'answer' */
  readonly answer_column?: string;
  /** A column with a list of further acceptable answers. */
  readonly aliases_column?: string;
  /** Whether `Paris` equals `PARIS`. @default false */
  readonly ignore_case?: boolean;
  /** `squad` ignores case, punctuation and articles, as the evaluation of SQuAD does. @default 'none' */
  readonly normalisation?: 'none' | 'squad';
  /** The tag around the answer, for example `answer` for `<answer>…</answer>`; without that section the score is 0. @default the whole completion */
  readonly tag?: string;
}

export const exactMatchConfig: z.ZodType<ExactMatchConfig> = z.strictObject({
  answer_column: z.string().exactOptional(),
  aliases_column: z.string().exactOptional(),
  ignore_case: z.boolean().exactOptional(),
  normalisation: z.enum(['none', 'squad']).exactOptional(),
  tag: z.string().min(1).exactOptional(),
});

/** Compares trimmed texts. If there are several acceptable answers, any of them counts. */
export function exactMatch(config: ExactMatchConfig = {}): RewardFunction {
  const { answer_column = 'answer', aliases_column, ignore_case = false, normalisation = 'none', tag } = config;
  const cased = (text: string) => (ignore_case ? text.trim().toLowerCase() : text.trim());
  const normal = normalisation === 'squad' ? normaliseQaText : cased;
  return (input) =>
    compareWithGold(
      input,
      answer_column,
      (completion, gold) => {
        const answer = tag === undefined ? completion : xmlContent(completion, tag);
        return answer !== undefined && normal(answer) === normal(gold) ? 1 : 0;
      },
      aliases_column,
    );
}
