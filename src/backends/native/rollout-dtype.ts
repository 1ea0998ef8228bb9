// The type of the frozen weights that completions are sampled with. Loads no native library, so that runs of other backends may import it.
import type { Config } from '../../config/schema.ts';
import { expectsKernels } from './kernel-use.ts';

export type RolloutDtype = Exclude<Config['native']['rollout_dtype'], 'auto'>;

/**
 * What `auto` stands for: int8 where our own operators multiply with such weights, since these round no activations, and what is learnt is the
 * same (bench/README.md); float32 elsewhere.
 */
export function rolloutDtype(setting: Config['native']['rollout_dtype'], ownOperators: boolean): RolloutDtype {
  if (setting !== 'auto') return setting;
  return ownOperators ? 'int8' : 'float32';
}

/** Whether completions are sampled with other weights than are trained. */
export function roundsWeights(native: Config['native']): boolean {
  return rolloutDtype(native.rollout_dtype, expectsKernels(native)) !== 'float32';
}
