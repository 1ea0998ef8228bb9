// runs.list.result/1: the runs under a directory, the latest first.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { runSummaryFields } from './records.ts';

export const runsListSchema = resultSchema(
  'runs.list.result/1',
  'runs list',
  'The runs in a directory, newest first.',
  {
    runs: z.array(z.strictObject(runSummaryFields)),
    damaged: z
      .array(z.strictObject({ dir: z.string(), message: z.string() }))
      .describe('those that cannot be read, and why')
      .exactOptional(),
  },
);
