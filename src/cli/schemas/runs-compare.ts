// runs.compare.result/2: several runs side by side.
import { z } from 'zod';
import { comparison } from '../../finished-runs/comparison-schema.ts';
import { resultSchema } from './envelope.ts';

const { rejudging, ...fields } = comparison.shape;

export const runsCompareSchema = resultSchema(
  'runs.compare.result/2',
  'runs compare',
  'A comparison of runs: their metrics, the differences of their configurations, and the held-out accuracy of each compared with the first.',
  {
    ...fields,
    next: z
      .array(z.string())
      .exactOptional()
      .describe(
        'commands that judge runs by the problems and the reward of the first; absent if all were judged alike',
      ),
  },
);
