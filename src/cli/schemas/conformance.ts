// conformance.result/1: every vector that ships, recomputed on this machine.
import { z } from 'zod';
import type { ConformanceCheck } from '../../conformance/conformance.ts';
import { outcomeSchema } from './envelope.ts';

const check: z.ZodType<ConformanceCheck> = z.strictObject({
  subject: z.enum(['loss', 'advantages', 'kl', 'entropy_control']),
  name: z.string().describe('a loss_type, a scale_rewards, a kl_estimator'),
  variant: z.string().describe('how its settings differ from the defaults'),
  condition: z.string().describe('the kind of batch'),
  oracle: z.string().describe('TRL, or definition: the formula of the paper in PyTorch, if TRL has no counterpart'),
  difference: z
    .number()
    .describe('the largest |ours − the oracle’s| / (|the oracle’s| + 0.01) of loss, metrics and gradients'),
  ok: z.boolean(),
});

export const conformanceSchema = outcomeSchema(
  'conformance.result/1',
  'conformance',
  'Losses, advantages and divergences recomputed on this machine, beside what their oracles computed; not ok if any check is not.',
  {
    oracles: z.record(z.string(), z.string()).describe('the versions of the packages that made the vectors'),
    onnxruntime: z.string(),
    tolerance: z.number(),
    checks: z.array(check),
  },
);
