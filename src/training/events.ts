// The speed of a step, of its event.
import type { Metrics } from '../logging.ts';
import type { StepEvent } from './event-schemas.ts';

/** The metrics of a step's speed, over the whole time that it took; empty if the policy sampled no tokens. */
export function speed({ tokens, timings }: Pick<StepEvent, 'tokens' | 'timings'>): Metrics {
  return tokens > 0 && timings.step_time ? { tokens_per_second: tokens / timings.step_time } : {};
}
