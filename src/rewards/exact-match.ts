// Reward 1 where a completion is the answer and nothing else, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../rewards.ts';
import { compareWithGold } from './gold-answers.ts';
import { normaliseQaText } from './qa-text.ts';
import { xmlContent } from './sections.ts';

export interface ExactMatchConfig {
  /** The column with the right answer, or a list of right ones. @default 'answer' */
  readonly answer_column?: string;
  /** A column with a list of further right answers. */
  readonly aliases_column?: string;
  /** Whether `Paris` equals `PARIS`. @default false */
  readonly ignore_case?: boolean;
  /** `squad` compares as question answering does: without case, punctuation and articles. @default 'none' */
  readonly normalisation?: 'none' | 'squad';
  /** Where the answer is, for example `answer` for `<answer>…</answer>`; without that section the score is 0. @default the whole completion */
  readonly tag?: string;
}

export const exactMatchConfig: z.ZodType<ExactMatchConfig> = z.strictObject({
  answer_column: z.string().exactOptional(),
  aliases_column: z.string().exactOptional(),
  ignore_case: z.boolean().exactOptional(),
  normalisation: z.enum(['none', 'squad']).exactOptional(),
  tag: z.string().min(1).exactOptional(),
});

/** Compares whole texts, white space around them aside; any of several right answers will do. */
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
