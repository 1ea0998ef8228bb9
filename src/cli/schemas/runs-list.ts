// runs.list.result/1: the runs under a directory, the latest first.
import { z } from 'zod';
import { runSummary } from '../../finished-runs/comparison-schema.ts';
import { resultSchema } from './envelope.ts';

export const runsListSchema = resultSchema(
  'runs.list.result/1',
  'runs list',
  'The runs in a directory, newest first.',
  {
    runs: z.array(runSummary),
    damaged: z
      .array(z.strictObject({ dir: z.string(), message: z.string() }))
      .describe('those that cannot be read, and why')
      .exactOptional(),
  },
);
