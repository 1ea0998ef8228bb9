// gpu-train.result/1: the ways to train a configuration on a GPU.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';

const memory = z.strictObject({
  gpu: z.string(),
  memory: z.number().describe('bytes'),
  needed: z.number(),
  fits: z.boolean(),
  largest_num_generations: z.int(),
});

const cost = z.strictObject({
  gpu: z.string(),
  hours: z.number(),
  usd: z.number(),
  usd_at_most: z.number().describe('the most that it can cost within the time limit'),
  usd_per_hour: z.number(),
});

const place = z.strictObject({
  id: z.string(),
  description: z.string().describe('what would run where'),
  settings: z.array(z.string()).describe('changes to the configuration that choose it, in the form of --set'),
  command: z.string(),
  ready: z.boolean(),
  missing: z.array(z.strictObject({ id: z.string(), detail: z.string(), fix: z.string().exactOptional() })),
  refused: z.string().exactOptional().describe('why this configuration cannot be trained in this way at all'),
  memory: memory.exactOptional().describe('an estimate'),
  cost: cost.exactOptional().describe('an estimate'),
});

export const gpuTrainSchema = outcomeSchema(
  'gpu-train.result/1',
  'gpu-train',
  'The ways to train a configuration on a GPU: what would run where, what is missing, what it would cost.',
  {
    model: z.string(),
    data: z.string(),
    chosen: z.string().describe('the way that the configuration chooses'),
    places: z.array(place),
    note: z.string(),
  },
);
