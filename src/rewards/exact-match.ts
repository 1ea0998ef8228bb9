// Reward 1 if a completion is the answer and nothing else, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../scoring.ts';
import { type QaAnswerConfig, qaAnswerFields, qaReward } from './qa-answer.ts';
import { normaliseQaText } from './qa-text.ts';

export interface ExactMatchConfig extends QaAnswerConfig {
  /** Whether `Paris` equals `PARIS`. @default false */
  readonly ignore_case?: boolean;
  /** `squad` ignores case, punctuation and articles, as the evaluation of SQuAD does. @default 'none' */
  readonly normalisation?: 'none' | 'squad';
}

export const exactMatchConfig: z.ZodType<ExactMatchConfig> = z.strictObject({
  ...qaAnswerFields,
  ignore_case: z.boolean().exactOptional(),
  normalisation: z.enum(['none', 'squad']).exactOptional(),
});

/** Compares trimmed texts. If there are several acceptable answers, any of them counts. */
export function exactMatch(config: ExactMatchConfig = {}): RewardFunction {
  const { ignore_case = false, normalisation = 'none' } = config;
  const cased = (text: string) => (ignore_case ? text.trim().toLowerCase() : text.trim());
  const normal = normalisation === 'squad' ? normaliseQaText : cased;
  return qaReward(config, (answer, gold) => (normal(answer) === normal(gold) ? 1 : 0));
}
