// Compares evaluations by the metric that chooses the best checkpoint.
import type { EvaluationRecord } from '../runs/records.ts';

/** The metric that breaks ties of `save.best`: accuracy stays 0 if a graded reward never reaches 1, however much the policy learns. */
const TIE_BREAKER = 'eval/sampled_reward';

/**
 * Whether an evaluation is better than the best before it.
 * @param metric `save.best`
 */
export function isBetter(next: EvaluationRecord, best: EvaluationRecord | undefined, metric: string | null): boolean {
  if (metric === null || next.metrics[metric] === undefined) return false;
  if (best?.metrics[metric] === undefined) return true;
  const decisive = next.metrics[metric] === best.metrics[metric] ? TIE_BREAKER : metric;
  return (next.metrics[decisive] ?? Number.NaN) > (best.metrics[decisive] ?? Number.NaN);
}
