// runs.list.result/1: the runs under a directory, the latest first.
import { z } from 'zod';
import { damagedRun, runSummary } from '../../finished-runs/comparison-schema.ts';
import { resultSchema } from './envelope.ts';

export const runsListSchema = resultSchema(
  'runs.list.result/1',
  'runs list',
  'The runs in a directory, newest first unless --sort is given.',
  {
    runs: z.array(runSummary),
    damaged: z.array(damagedRun).describe('those that cannot be read, and why').exactOptional(),
  },
);
