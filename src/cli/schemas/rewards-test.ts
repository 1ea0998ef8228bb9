// rewards.test.result/1: the scores that a reward gives to given completions.
import { z } from 'zod';
import { numbers } from '../../runs/records.ts';
import { outcomeSchema } from './envelope.ts';

const index = z.int().nonnegative().describe('the index, starting at 0');
const score = z.number().nullable();

const agreement = z.strictObject({
  expected: z.int().describe('the number of cases with an expected score'),
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
    scores: z.array(score).describe('one score per case, in order; null if the reward does not apply or failed'),
    errors: z.array(z.strictObject({ index, message: z.string() })).describe('the cases in which the reward failed'),
    metrics: numbers.describe('means of the metrics that the reward logged'),
    as_messages: z
      .literal(true)
      .exactOptional()
      .describe(
        'present if a function in Python failed on every completion as a text, and was given messages, as in a run with a chat template',
      ),
    agreement: agreement.exactOptional().describe('present if a case has an expected score'),
  },
);
