// What lists and comparisons say of runs: schemas, from which their types are inferred.
import { z } from 'zod';
import type { Recorded } from '../common/recorded.ts';
import { interval, learning, pace, runRecord } from '../runs/records.ts';

/** run.json, with its path. */
const { id, ...others } = runRecord.shape;
export const runWithDirectory = z.strictObject({ id, dir: z.string(), ...others });

const window = { before: z.number(), after: z.number() };

/** A run in lists and comparisons. */
export const runSummary = runWithDirectory.extend({
  model: z.string().nullable(),
  reward: z
    .strictObject({ ...window, window: z.int() })
    .exactOptional()
    .describe('the mean over the first steps, and over as many last steps'),
  alerts: z
    .strictObject({ error: z.int(), warning: z.int(), info: z.int() })
    .describe('the number of alerts that have not ended'),
});
export type RunSummary = Recorded<typeof runSummary>;

const comparedRun = runSummary.extend({
  metrics: z
    .record(z.string(), z.strictObject(window))
    .describe('means over the first and the last window, of metrics that every run has'),
  time: pace.exactOptional(),
  learning,
  accuracy: z
    .strictObject({ step: z.int(), value: z.number(), interval })
    .exactOptional()
    .describe('eval/sampled_accuracy at the last evaluation'),
});
export type ComparedRun = Recorded<typeof comparedRun>;

const heldOutComparison = z.strictObject({
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
export type HeldOutComparison = Recorded<typeof heldOutComparison>;

/** How a model is evaluated on the problems and by the reward of the first run. */
const rejudging = z.strictObject({
  config: z.string().describe('the configuration to evaluate, that of the first run'),
  settings: z.array(z.string()).describe('the changes to it that name the model'),
  export: z
    .strictObject({ run: z.string(), out: z.string() })
    .exactOptional()
    .describe('the run to export first, and the folder; absent if its adapter is opened as it is'),
});
export type Rejudging = Recorded<typeof rejudging>;

export const comparison = z.strictObject({
  runs: z.array(comparedRun),
  config: z
    .array(z.strictObject({ key: z.string(), values: z.array(z.unknown()) }))
    .describe('the keys that differ, with the value of each run; null where a run has no such key'),
  held_out: z.array(heldOutComparison).describe('each other run against the first, where both were evaluated'),
  rejudging: z
    .array(rejudging)
    .exactOptional()
    .describe('how runs that were judged otherwise are judged like the first; absent if all were judged alike'),
});
/** How runs differ, and their results. */
export type Comparison = Recorded<typeof comparison>;
