// replay.result/1: what a run sampled, scored again with another reward.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';

const change = { before: z.number(), after: z.number() };
const place = {
  step: z.int(),
  group: z.string().describe('the id of the group'),
  index: z.int().nonnegative().describe('within the group, counted from 0'),
};

export const replaySchema = outcomeSchema(
  'replay.result/1',
  'replay',
  'What a run sampled, scored again: before are the scores that it was trained with, after those of the reward given.',
  {
    run: z.strictObject({ dir: z.string() }),
    reward: z.string(),
    groups: z.int(),
    completions: z.int(),
    compared: z.int().describe('completions with both scores: what all the following is about'),
    mean: z.strictObject(change).exactOptional().describe('absent where nothing can be compared'),
    frac_mixed: z.strictObject(change).exactOptional().describe('groups whose scores are not all equal'),
    correlation: z.number().exactOptional().describe('Pearson’s; absent where one of the two is always the same'),
    steps: z.array(z.strictObject({ step: z.int(), ...change })).describe('the means of each step'),
    differences: z.array(z.strictObject({ ...place, ...change, text: z.string() })).describe('the ten largest'),
    failures: z.int().describe('how often the reward failed'),
    errors: z.array(z.strictObject({ ...place, message: z.string() })).describe('the first ten failures'),
  },
);
