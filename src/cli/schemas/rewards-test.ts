// rewards.test.result/1: what a reward made of given completions.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';
import { numbers } from './records.ts';

const index = z.int().nonnegative().describe('counted from 0');
const score = z.number().nullable();

const agreement = z.strictObject({
  expected: z.int().describe('cases that say what they expect'),
  agreed: z.int(),
  fraction: z.number().describe('agreed / expected'),
  disagreements: z.array(z.strictObject({ index, expected: score, score })),
});

export const rewardsTestSchema = outcomeSchema(
  'rewards.test.result/1',
  'rewards test',
  'What a reward made of given completions.',
  {
    reward: z.string(),
    scores: z.array(score).describe('one a case, in order; null: does not apply, or failed'),
    errors: z.array(z.strictObject({ index, message: z.string() })).describe('the cases in which it failed'),
    metrics: numbers.describe('what the reward logged, averaged'),
    agreement: agreement.exactOptional().describe('present if a case says what it expects'),
  },
);
