// replay.result/1: the rollouts of a run, scored again with another reward.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';

const change = { before: z.number(), after: z.number() };
const place = {
  step: z.int(),
  group: z.string().describe('the id of the group'),
  index: z.int().nonnegative().describe('the index within the group, starting at 0'),
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
    compared: z.int().describe('the number of completions with both scores, on which the other fields are based'),
    mean: z.strictObject(change).exactOptional().describe('absent if nothing can be compared'),
    frac_mixed: z.strictObject(change).exactOptional().describe('the fraction of groups whose scores differ'),
    correlation: z.number().exactOptional().describe('Pearson’s; absent if one of the two is constant'),
    steps: z.array(z.strictObject({ step: z.int(), ...change })).describe('the means for each step'),
    differences: z
      .array(z.strictObject({ ...place, ...change, text: z.string() }))
      .describe('the ten largest differences'),
    failures: z.int().describe('how often the reward failed'),
    errors: z.array(z.strictObject({ ...place, message: z.string() })).describe('the first ten failures'),
  },
);
