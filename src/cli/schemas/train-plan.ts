// train.plan/1: what training would take, as `train --dry-run` tells.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';

const bytes = z.number().nonnegative();
const seconds = z.number().nonnegative();

const perStep = z.strictObject({
  prompts: z.int(),
  completions: z.int().describe('prompts × num_generations'),
  updates: z.int().describe('of the optimiser'),
  prompt_tokens: z.strictObject({ mean: z.number(), max: z.int() }).describe('with the chat template applied'),
  tokens: z
    .strictObject({ mean: z.int(), worst: z.int() })
    .describe('read and written, every completion to its full length: with average prompts, and with the longest'),
});

const stage = z.strictObject({
  name: z.string(),
  method: z.enum(['grpo', 'sft']),
  steps: z.int(),
  keep_optimizer: z.boolean(),
  changes: z.record(z.string(), z.unknown()).describe('its keys in place of those of the configuration'),
});

const memory = z.strictObject({
  estimate: bytes.describe('of the peak of the whole process'),
  parts: z.record(z.string(), bytes),
  available: bytes.describe('on this machine, now'),
  fits: z.boolean(),
});

const time = z.strictObject({
  estimate: seconds.describe('of the whole run; right within a factor of three'),
  start: seconds.describe('reading the model, compiling its graphs'),
  per_step: seconds,
  evaluations: seconds,
});

const gpu = z.strictObject({
  gpu: z.string(),
  memory: bytes,
  needed: bytes,
  fits: z.boolean(),
  largest_num_generations: z.int().describe('0: not even the weights fit'),
});

const model = z.strictObject({
  name: z.string(),
  path: z.string().nullable().describe('where it lies; null until it is downloaded'),
  download_bytes: bytes.describe('what training would download of it first'),
});

const dollars = z.number().nonnegative();

const rental = z.strictObject({
  gpu: z.string(),
  hours: z.number().nonnegative(),
  usd: dollars,
  usd_at_most: dollars.describe('what modal.timeout lets it cost'),
  usd_per_hour: dollars,
  volume: z.string(),
  secrets: z.array(z.string()).describe('their names'),
  uploads: z.array(z.string()).describe('files, and folders with a slash at their end'),
});

export const trainPlanSchema = outcomeSchema(
  'train.plan/1',
  'train',
  'What training would take, told by --dry-run, and where money would be spent that --yes does not agree to: then ok is false. Nothing is run, written or spent. Bytes and seconds.',
  {
    config: z.record(z.string(), z.unknown()).describe('with a value for every key'),
    origins: z
      .record(z.string(), z.union([z.enum(['default', 'file', '--set']), z.string().regex(/^preset /)]))
      .describe('where each value comes from, keys in dots'),
    backend: z.string(),
    compute: z.string(),
    device: z.string(),
    model: model.exactOptional().describe('absent where there is none, or where another machine would read it'),
    parameters: z.strictObject({ total: z.int(), trainable: z.int() }),
    problems: z.strictObject({ train: z.int(), eval: z.int() }),
    run: z.strictObject({ dir: z.string(), exists: z.boolean() }),
    steps: z.int(),
    per_step: perStep,
    stages: z.array(stage).exactOptional().describe('absent where the run is one'),
    memory,
    time,
    spend: z.strictObject({ usd: z.number(), note: z.string() }),
    rental: rental.exactOptional().describe('the machine that would be rented'),
    gpu: gpu.exactOptional().describe('the same with backend trl on the GPU that modal.gpu names'),
    would_run: z.string().describe('the command that trains'),
    note: z.string(),
  },
);
