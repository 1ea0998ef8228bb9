// The report on the episodes of one of the players that need no model.
import { z } from 'zod';
import type { Recorded } from '../common/recorded.ts';

export const playerReport = z.strictObject({
  episodes: z.int(),
  score: z.number().nullable().describe('the mean over episodes with a score; null if none has one'),
  rewards: z.record(z.string(), z.number()).describe('the mean of each reward, over episodes to which it applied'),
  stop_reasons: z.record(z.string(), z.number()).describe('the number of episodes by the reason for which they ended'),
  turns: z.number().describe('the mean number of turns of an episode'),
  errors: z
    .array(z.strictObject({ message: z.string(), count: z.int() }))
    .describe('errors of the environment and of rewards, and how often each occurred'),
});
export type PlayerReport = Recorded<typeof playerReport>;
