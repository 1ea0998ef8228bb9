// Reward 1 where the answer occurs anywhere in a completion, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../rewards.ts';
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

/** Looks for the answer as a piece of text, white space around it aside. It is found inside longer words too: `art` in `party`. */
export function contains(config: ContainsConfig = {}): RewardFunction {
  const { answer_column = 'answer', ignore_case = false } = config;
  const normal = (text: string) => (ignore_case ? text.toLowerCase() : text);
  return (input) =>
    compareWithGold(input, answer_column, (completion, gold) => {
      // Every text contains the empty one.
      if (gold.trim() === '') throw goldAnswerInvalid(answer_column, 'is empty');
      return normal(completion).includes(normal(gold.trim())) ? 1 : 0;
    });
}
