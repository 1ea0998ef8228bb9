// train.plan/1: what training would take, as shown by `train --dry-run`.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';
import { leavingFolder } from './leaving-folder.ts';

const bytes = z.number().nonnegative();
const seconds = z.number().nonnegative();

const perStep = z.strictObject({
  prompts: z.int(),
  completions: z.int().describe('prompts × num_generations'),
  updates: z.int().describe('optimiser updates per step'),
  prompt_tokens: z.strictObject({ mean: z.number(), max: z.int() }).describe('with the chat template applied'),
  tokens: z
    .strictObject({ mean: z.int(), worst: z.int() })
    .describe(
      'tokens read and sampled if every completion has its full length, with average prompts and with the longest prompts',
    ),
});

const stage = z.strictObject({
  name: z.string(),
  method: z.enum(['grpo', 'sft']),
  steps: z.int(),
  keep_optimizer: z.boolean(),
  changes: z.record(z.string(), z.unknown()).describe('the keys that it changes'),
});

const memory = z.strictObject({
  estimate: bytes.describe('the estimated peak of the whole process'),
  parts: z.record(z.string(), bytes),
  available: bytes.describe('the memory that is available on this machine now'),
  fits: z.boolean(),
});

const time = z.strictObject({
  estimate: seconds.describe('the estimated time of the whole run, within a factor of three'),
  start: seconds.describe('the time to read the model and compile its graphs'),
  per_step: seconds,
  evaluations: seconds,
});

const gpu = z.strictObject({
  gpu: z.string(),
  memory: bytes,
  needed: bytes,
  fits: z.boolean(),
  largest_num_generations: z.int().describe('the largest that fits; 0 if not even the weights fit'),
});

const model = z.strictObject({
  name: z.string(),
  path: z.string().nullable().describe('its path; null if it is not downloaded yet'),
  download_bytes: bytes.describe('bytes that would be downloaded before training'),
});

const dollars = z.number().nonnegative();

const rental = z.strictObject({
  gpu: z.string(),
  hours: z.number().nonnegative(),
  usd: dollars,
  usd_at_most: dollars.describe('the most that it can cost within modal.timeout'),
  usd_per_hour: dollars,
  volume: z.string(),
  secrets: z.array(z.string()).describe('the names of the secrets'),
  uploads: z.array(z.string()).describe('files, and folders, which end with a slash'),
  files: z.array(leavingFolder).describe('every file that leaves with them'),
});

export const trainPlanSchema = outcomeSchema(
  'train.plan/1',
  'train',
  'What training would take, told by --dry-run, and where money would be spent that --yes does not agree to: then ok is false. Nothing is run, written or spent. Bytes and seconds.',
  {
    config: z.record(z.string(), z.unknown()).describe('the complete configuration, with a value for every key'),
    origins: z
      .record(z.string(), z.union([z.enum(['default', 'file', '--set']), z.string().regex(/^preset /)]))
      .describe('where each value comes from; keys are paths with dots'),
    backend: z.string(),
    compute: z.string(),
    device: z.string(),
    model: model.exactOptional().describe('absent if there is no model, or if another machine would read it'),
    parameters: z.strictObject({ total: z.int(), trainable: z.int() }),
    rollout_dtype: z
      .string()
      .exactOptional()
      .describe(
        'of the weights that completions are sampled with, adapters aside: what native.rollout_dtype auto stands for',
      ),
    problems: z.strictObject({ train: z.int(), eval: z.int() }),
    run: z.strictObject({ dir: z.string(), exists: z.boolean() }),
    steps: z.int(),
    per_step: perStep,
    stages: z.array(stage).exactOptional().describe('absent if the run has no stages'),
    memory,
    time,
    spend: z.strictObject({ usd: z.number(), note: z.string() }),
    rental: rental.exactOptional().describe('the machine that would be rented'),
    gpu: gpu.exactOptional().describe('an estimate for backend trl on the GPU that modal.gpu names'),
    would_run: z.string().describe('the command that trains'),
    note: z.string(),
  },
);
