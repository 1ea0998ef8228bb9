// Reward between 0 and 1 for the words that an answer shares with the gold answer.
import { z } from 'zod';
import type { RewardFunction } from '../scoring.ts';
import { type QaAnswerConfig, qaAnswerFields, qaReward } from './qa-answer.ts';
import { wordF1 } from './qa-text.ts';

export type F1Config = QaAnswerConfig;

export const f1Config: z.ZodType<F1Config> = z.strictObject(qaAnswerFields);

/** Word-level F1 as in the evaluation of SQuAD (arXiv:1606.05250), ignoring articles, punctuation and case; the best over all acceptable answers. */
export function f1(config: F1Config = {}): RewardFunction {
  return qaReward(config, wordF1);
}
