// runs.best.result/1: runs by the best value of a metric; runs.rm.result/1: runs that were removed.
import { z } from 'zod';
import { bestRun, removedRun } from '../../finished-runs/comparison-schema.ts';
import { resultSchema } from './envelope.ts';

export const runsBestSchema = resultSchema(
  'runs.best.result/1',
  'runs best',
  'The runs by the best value that a metric had in them.',
  {
    metric: z.string(),
    best: bestRun,
    ranking: z.array(bestRun).describe('the best first'),
    next: z.array(z.string()).describe('useful next commands'),
  },
);

export const runsRemoveSchema = resultSchema('runs.rm.result/1', 'runs rm', 'The runs that were removed.', {
  removed: z.array(removedRun),
});
