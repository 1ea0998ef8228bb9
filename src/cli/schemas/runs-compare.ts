// runs.compare.result/1: several runs side by side.
import { z } from 'zod';
import { interval } from '../../runs/records.ts';
import { resultSchema } from './envelope.ts';
import { comparedRun } from './records.ts';

const heldOut = z.strictObject({
  run: z.string(),
  against: z.string(),
  difference: z.number().describe('the difference of eval/sampled_accuracy at the last evaluation'),
  interval,
  margin: z.number(),
  conclusion: z
    .enum(['better', 'worse', 'same', 'inconclusive'])
    .describe(
      'better or worse: the interval lies beyond the margin; same: it lies within the margin; inconclusive: neither, or there is a caveat',
    ),
  caveat: z
    .string()
    .exactOptional()
    .describe(
      'why the difference says nothing of the runs: one was last evaluated before its last step, or their rewards, environments or held-out data differ, such as a file that was changed between them',
    ),
  paired: z
    .boolean()
    .describe('whether both were evaluated on the same problems by the same reward, and compared problem by problem'),
  problems: z.int(),
});

export const runsCompareSchema = resultSchema(
  'runs.compare.result/1',
  'runs compare',
  'A comparison of runs: their metrics, the differences of their configurations, and the held-out accuracy of each compared with the first.',
  {
    runs: z.array(comparedRun),
    config: z.array(z.strictObject({ key: z.string(), values: z.array(z.unknown()) })),
    held_out: z.array(heldOut),
    next: z
      .array(z.string())
      .exactOptional()
      .describe(
        'commands that judge runs by the problems and the reward of the first; absent if all were judged alike',
      ),
  },
);
