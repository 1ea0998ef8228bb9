// env.check.result/1: the results of playing an environment without a model.
import { z } from 'zod';
import { check } from '../../checks/checks.ts';
import { playerReport as player } from '../../checks/player-report.ts';
import { outcomeSchema } from './envelope.ts';

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
