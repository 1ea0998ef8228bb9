// env.check.result/1: the results of playing an environment without a model.
import { z } from 'zod';
import type { PlayerReport } from '../../checks/check-environment.ts';
import { numbers } from '../../runs/records.ts';
import { check } from './checks.ts';
import { outcomeSchema } from './envelope.ts';

const player: z.ZodType<PlayerReport> = z.strictObject({
  episodes: z.int(),
  score: z.number().nullable().describe('the mean over episodes with a score; null if none has one'),
  rewards: numbers.describe('the mean of each reward, over episodes to which it applied'),
  stop_reasons: numbers.describe('the number of episodes by the reason for which they ended'),
  turns: z.number().describe('the mean number of turns of an episode'),
  errors: z
    .array(z.strictObject({ message: z.string(), count: z.int() }))
    .describe('errors of the environment and of rewards, and how often each occurred'),
});

export const envCheckSchema = outcomeSchema(
  'env.check.result/1',
  'env check',
  'An environment, played without a model; not ok if a check of level error is not.',
  {
    rows: z.int().describe('the number of problems played'),
    players: z.strictObject({
      gold: player.describe('results with the right answers'),
      empty: player.describe('results with empty answers'),
      random: player.describe('results with random text'),
      malformed: player.describe('results with tool calls that are malformed, name no tool or have wrong arguments'),
    }),
    checks: z.array(check),
  },
);
