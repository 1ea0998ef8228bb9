// What several results say of runs, beside the records that run directories hold.
import { z } from 'zod';
import { evaluationRecord, interval, learning, pace, runRecord, verdict } from '../../runs/records.ts';

/** run.json, with its path. */
const { id, ...others } = runRecord.shape;
export const runWithDirectory = z.strictObject({ id, dir: z.string(), ...others });

const window = { before: z.number(), after: z.number() };

/** A run in lists and comparisons. */
export const runSummaryFields = {
  ...runWithDirectory.shape,
  model: z.string().nullable(),
  reward: z
    .strictObject({ ...window, window: z.int() })
    .exactOptional()
    .describe('the mean over the first steps, and over as many last steps'),
  alerts: z
    .strictObject({ error: z.int(), warning: z.int(), info: z.int() })
    .describe('the number of alerts that have not ended'),
};

export const comparedRun = z.strictObject({
  ...runSummaryFields,
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

/** The run and the step of the checkpoint that was opened. */
export const openedRun = z.strictObject({ dir: z.string(), step: z.int() });

/** An evaluation whose completions were kept. */
export const keptEvaluation = z.strictObject({
  name: z.string().describe('its step, with a hash of its settings if gradus eval made it'),
  step: z.int().describe('the step of the checkpoint'),
  command: z.enum(['train', 'eval']).describe('what made it'),
  status: z
    .enum(['finished', 'interrupted'])
    .describe('interrupted: the same gradus eval, or train --resume, goes on; or it is being made'),
  path: z.string().describe('a file with one line per problem, once it is finished'),
  result: z
    .strictObject({
      split: z.enum(['eval', 'train']),
      evaluation: evaluationRecord,
      baseline: evaluationRecord.exactOptional(),
      verdict: verdict.exactOptional(),
    })
    .exactOptional()
    .describe('what gradus eval found'),
});
