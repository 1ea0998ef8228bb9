// rewards.serve.result/1 and rewards.score/1: the message that rewards are ready, and the answer to each request.
import { z } from 'zod';
import type { RewardAnswer } from '../../user-code/rewards/serve-rewards.ts';
import { resultSchema } from './envelope.ts';

export const rewardsServeSchema = resultSchema(
  'rewards.serve.result/1',
  'rewards serve',
  'The first line of gradus rewards serve: from now on it answers the lines on its stdin, each with a rewards.score/1.',
  {
    rewards: z.array(z.string()).describe('their names; the first decides what is correct'),
  },
);

export const rewardsScoreSchema: z.ZodType<RewardAnswer> = z
  .strictObject({
    schema: z.literal('rewards.score/1'),
    id: z.union([z.int(), z.string()]).describe('that of the question'),
    score: z.number().nullable().describe('the weighted sum; null if no reward applies or one failed'),
    correct: z.number().nullable().describe('1 if the first reward gives at least 1, else 0; null if it gives nothing'),
    rewards: z.record(z.string(), z.number().nullable()),
    errors: z.record(z.string(), z.string()).exactOptional().describe('why rewards failed, by their names'),
  })
  .describe(
    'One line of gradus rewards serve: the answer to a line such as {"id": 1, "row": {"answer": "4"}, "completion": "so it is 4", "completion_ids": [1, 2]}.',
  );
