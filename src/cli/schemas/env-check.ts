// env.check.result/1: what came of playing an environment without a model.
import { z } from 'zod';
import type { PlayerReport } from '../../studio/user-code/environments/check-environment.ts';
import { check } from './checks.ts';
import { outcomeSchema } from './envelope.ts';
import { numbers } from './records.ts';

const player: z.ZodType<PlayerReport> = z.strictObject({
  episodes: z.int(),
  score: z.number().nullable().describe('mean over the episodes that have a score; null: none has'),
  rewards: numbers.describe('the mean of each part, where it applied'),
  stop_reasons: numbers.describe('how many episodes ended for each reason'),
  turns: z.number().describe('mean of an episode'),
  errors: z
    .array(z.strictObject({ message: z.string(), count: z.int() }))
    .describe('what environment and rewards threw, and how often'),
});

export const envCheckSchema = outcomeSchema(
  'env.check.result/1',
  'env check',
  'An environment, played without a model; not ok if a check of level error is not.',
  {
    rows: z.int().describe('problems that were played'),
    players: z.strictObject({
      gold: player.describe('the right answers'),
      empty: player.describe('empty answers'),
      random: player.describe('random text'),
      malformed: player.describe('tool calls that cannot be read, of no tool, or with wrong arguments'),
    }),
    checks: z.array(check),
  },
);
