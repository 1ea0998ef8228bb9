// Reward 1 where a completion is the answer and nothing else, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../rewards.ts';
import { compareWithGold } from './gold-answers.ts';

export interface ExactMatchConfig {
  /** The column with the right answer. @default 'answer' */
  readonly answer_column?: string;
  /** Whether `Paris` equals `PARIS`. @default false */
  readonly ignore_case?: boolean;
}

export const exactMatchConfig: z.ZodType<ExactMatchConfig> = z.strictObject({
  answer_column: z.string().exactOptional(),
  ignore_case: z.boolean().exactOptional(),
});

/** Compares whole texts, white space around them aside. */
export function exactMatch(config: ExactMatchConfig = {}): RewardFunction {
  const { answer_column = 'answer', ignore_case = false } = config;
  const normal = (text: string) => (ignore_case ? text.trim().toLowerCase() : text.trim());
  return (input) =>
    compareWithGold(input, answer_column, (completion, gold) => (normal(completion) === normal(gold) ? 1 : 0));
}
