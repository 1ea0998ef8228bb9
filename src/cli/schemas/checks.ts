// What `data check` and `preflight` report: checks, and how long prompts are.
import { z } from 'zod';
import type { Check } from '../../checks/checks.ts';
import type { LengthDistribution } from '../../data/length-distribution.ts';

export const check: z.ZodType<Check> = z.strictObject({
  id: z.string(),
  ok: z.boolean(),
  level: z.enum(['error', 'warning', 'info']).describe('an error stops the run, a warning does not'),
  detail: z.string(),
  hint: z.string().exactOptional().describe('what to do if it is not ok'),
});

export const lengthDistribution: z.ZodType<LengthDistribution> = z.strictObject({
  measured: z.int().describe('the number of prompts measured; a sample, if there are very many'),
  prompts: z.int(),
  min: z.int(),
  mean: z.number(),
  p50: z.int(),
  p95: z.int(),
  max: z.int(),
  histogram: z
    .array(z.strictObject({ from: z.int(), to: z.int(), count: z.int() }))
    .describe('the number of prompts with lengths from `from` to `to`, inclusive'),
});
