// The report on one recomputed vector.
import { z } from 'zod';

export const conformanceCheck = z.strictObject({
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
export type ConformanceCheck = Readonly<z.infer<typeof conformanceCheck>>;
