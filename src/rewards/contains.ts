// Reward 1 if the answer occurs anywhere in a completion, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../scoring.ts';
import { compareWithGold, goldAnswerInvalid } from './gold-answers.ts';

export interface ContainsConfig {
  /** The column with the right answer. @default 'answer' */
  readonly answer_column?: string;
  /** Whether `Paris` is found in `PARIS`. @default false */
  readonly ignore_case?: boolean;
}

export const containsConfig: z.ZodType<ContainsConfig> = z.strictObject({
  answer_column: z.string().exactOptional(),
  ignore_case: z.boolean().exactOptional(),
});

/** Searches for the trimmed answer as a substring, which may be part of a longer word: `art` is found in `party`. */
export function contains(config: ContainsConfig = {}): RewardFunction {
  const { answer_column = 'answer', ignore_case = false } = config;
  const normal = (text: string) => (ignore_case ? text.toLowerCase() : text);
  return (input) =>
    compareWithGold(input, answer_column, (completion, gold) => {
      // Every text contains the empty text, so an empty answer would always score 1.
      if (gold.trim() === '') throw goldAnswerInvalid(answer_column, 'is empty');
      return normal(completion).includes(normal(gold.trim())) ? 1 : 0;
    });
}
