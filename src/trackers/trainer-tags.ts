// The names under which transformers' trainers show metrics, so that runs of both can be laid over one another.
import type { Metrics } from '../logging.ts';

/** `train/reward`, `eval/accuracy`; what is not finite is left out. */
export function trainerTags(metrics: Metrics): Record<string, number> {
  const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value));
  return Object.fromEntries(finite.map(([name, value]) => [name.startsWith('eval/') ? name : `train/${name}`, value]));
}
