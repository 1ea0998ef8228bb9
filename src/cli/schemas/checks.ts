// What `data check` and `preflight` report: checks, and how long prompts are.
import { z } from 'zod';
import type { Check } from '../../studio/checks.ts';
import type { LengthDistribution } from '../../studio/data/length-distribution.ts';

export const check: z.ZodType<Check> = z.strictObject({
  id: z.string(),
  ok: z.boolean(),
  level: z.enum(['error', 'warning', 'info']).describe('error stops, warning does not'),
  detail: z.string(),
  hint: z.string().exactOptional().describe('what to do, where it is not ok'),
});

export const lengthDistribution: z.ZodType<LengthDistribution> = z.strictObject({
  measured: z.int().describe('prompts that were measured: of very many, a sample'),
  prompts: z.int(),
  min: z.int(),
  mean: z.number(),
  p50: z.int(),
  p95: z.int(),
  max: z.int(),
  histogram: z
    .array(z.strictObject({ from: z.int(), to: z.int(), count: z.int() }))
    .describe('lengths from `from` to `to`, both included'),
});
