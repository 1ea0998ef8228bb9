// Rules about the sampler: whether it is the policy that is trained.
import type { History } from '../history.ts';
import { type HealthRule, number, rule } from './health-rule.ts';

export const samplerRules: readonly HealthRule[] = [
  rule({
    id: 'sampler_mismatch',
    level: 'warning',
    thresholds: { steps: 10 },
    condition: ({ steps }) =>
      `log-probabilities of sampler and trainer differed in the last ${steps} steps by more than rounding explains: 0.05 nats per token, or 0.5 with a quantised sampler; five times that in a single step ends the run`,
    why: 'Gradients are computed as if the trainer had sampled the tokens. The more the sampler differs, the more they are biased.',
    suggestion: 'Sample with higher precision (native.rollout_dtype), or set importance_sampling_correction.',
    check: (history, { steps }) => mismatchText(history, steps, history.settings.samplerTolerance),
  }),
  rule({
    id: 'sampler_broken',
    level: 'error',
    thresholds: { steps: 10, nats: 1 },
    condition: ({ nats, steps }) =>
      `log-probabilities of sampler and trainer differed by more than ${nats} nats per token in the last ${steps} steps`,
    why: 'Sampler and trainer are not the same policy: the sampler has old weights, other tokens or another temperature.',
    suggestion: 'Stop, and check that the sampler gets the new weights and that both use the same token ids.',
    check: (history, { steps, nats }) => mismatchText(history, steps, nats),
  }),
];

function mismatchText(history: History, steps: number, limit = Number.POSITIVE_INFINITY): string | undefined {
  const difference = history.lastMean('sampling/sampling_logp_difference/mean', steps);
  if (difference === undefined || difference <= limit) return undefined;
  return `log-probabilities of sampler and trainer differed by ${number(difference)} nats per token in the last ${steps} steps`;
}
