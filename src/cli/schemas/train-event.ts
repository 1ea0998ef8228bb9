// train.event/2: a line of `train --events`; the last line holds the result. Lines of events.jsonl are the same, without the result.
import { z } from 'zod';
import { alert as alertRecord, evaluationRecord, numbers, sampleRecord } from '../../runs/records.ts';
import { check } from './checks.ts';
import { errorSchema } from './error.ts';
import { changedFiles, damagedCheckpoints } from './records.ts';
import { trainSchema } from './train.ts';

const time = z.iso.datetime();

const download = z.strictObject({
  time,
  type: z.literal('download'),
  what: z.string().describe('what is downloaded, such as model org/name'),
  files: z.int(),
  bytes: z.int().describe('bytes downloaded so far'),
  total_bytes: z.int(),
  folder: z.string(),
});

const preflight = z.strictObject({
  time,
  type: z.literal('preflight'),
  step: z.literal(0),
  checks: z.array(check),
  metrics: numbers,
});

const start = z.strictObject({
  time,
  type: z.literal('start'),
  run: z.strictObject({ id: z.string(), dir: z.string(), backend: z.string() }),
  step: z.int().describe('the step that the run continues from'),
  max_steps: z.int(),
  parameters: z.strictObject({ total: z.int(), trainable: z.int() }),
  rollout_dtype: z
    .string()
    .exactOptional()
    .describe('of the weights that completions are sampled with, adapters aside: what native.rollout_dtype auto chose'),
  train_problems: z.int(),
  eval_problems: z.int().describe('those held out'),
  changed_files: changedFiles,
  damaged_checkpoints: damagedCheckpoints,
});

const stage = z.strictObject({
  time,
  type: z.literal('stage'),
  step: z.int().describe('steps so far, in all stages'),
  name: z.string(),
  method: z.enum(['grpo', 'sft']),
  stage: z.int().describe('its number, starting at 1; the metric `stage` of its steps has the same number'),
  steps: z.int(),
});

const step = z.strictObject({
  time,
  type: z.literal('step'),
  step: z.int(),
  metrics: numbers,
  timings: numbers.describe('seconds'),
  tokens: z.int().describe('tokens sampled in this step'),
});

const evaluation = z.strictObject({ time, type: z.literal('evaluation'), ...evaluationRecord.shape });

const alert = z.strictObject({ time, type: z.literal('alert'), ...alertRecord.shape });

const samples = z.strictObject({ time, type: z.literal('samples'), step: z.int(), samples: z.array(sampleRecord) });

const checkpoint = z.strictObject({
  time,
  type: z.literal('checkpoint'),
  step: z.int(),
  directory: z.string(),
  best: z.boolean(),
});

const tracker = z.strictObject({
  time,
  type: z.literal('tracker'),
  step: z.int(),
  tracker: z.string().describe('its name in the configuration'),
  fault: z.string().exactOptional().describe('why it lacks something; absent once it has everything again'),
});

const stop = z.strictObject({ time, type: z.literal('stop'), step: z.int(), reason: z.string() });

const result = z.strictObject({ type: z.literal('result'), result: z.union([trainSchema, errorSchema]) });

export const trainEventSchema = z
  .union([download, preflight, start, stage, step, evaluation, alert, samples, checkpoint, tracker, stop, result])
  .describe(
    'A line of `train --events`; the last holds the result. events.jsonl has the same lines but the last, and none of a download.',
  );
