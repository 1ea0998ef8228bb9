// runs.compare.result/1: runs beside one another.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { comparedRun, interval } from './records.ts';

const heldOut = z.strictObject({
  run: z.string(),
  against: z.string(),
  difference: z.number().describe('of eval/sampled_accuracy at the last evaluation'),
  interval,
  margin: z.number(),
  conclusion: z
    .enum(['better', 'worse', 'same', 'inconclusive'])
    .describe('better, worse: the interval lies beyond the margin; same: within'),
  paired: z.boolean().describe('compared problem by problem, on the same problems'),
  problems: z.int(),
});

export const runsCompareSchema = resultSchema(
  'runs.compare.result/1',
  'runs compare',
  'Runs beside one another: metrics, what differs in their configurations, held-out accuracy of the others against the first.',
  {
    runs: z.array(comparedRun),
    config: z.array(z.strictObject({ key: z.string(), values: z.array(z.unknown()) })),
    held_out: z.array(heldOut),
  },
);
