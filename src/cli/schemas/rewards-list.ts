// rewards.list.result/1: the rewards that ship.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const rewardsListSchema = resultSchema('rewards.list.result/1', 'rewards list', 'The built-in rewards.', {
  rewards: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      config: z.record(z.string(), z.unknown()).describe('the JSON Schema of the settings'),
    }),
  ),
});
