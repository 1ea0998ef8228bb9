// The type of the weights that completions are sampled with. Loads no native library, so that runs of other backends may import it.
import type { Config } from '../../config/schema.ts';
import { expectsKernels } from './kernel-use.ts';

type Setting = Config['native']['rollout_dtype'];
export type RolloutDtype = Exclude<Setting, 'auto'>;

export interface RolloutModel {
  readonly ownOperators: boolean;
  /** Whether all of its parameters are trained. */
  readonly whole: boolean;
}

/**
 * What `auto` stands for: int8 where our own operators multiply with such weights, since these round no activations, and what is learnt is the
 * same (bench/README.md); float32 elsewhere. Trained weights are rounded anew after each update, which our own operators alone can do.
 */
export function rolloutDtype(setting: Setting, { ownOperators, whole }: RolloutModel): RolloutDtype {
  if (whole && !ownOperators) return 'float32';
  if (setting !== 'auto') return setting;
  return ownOperators ? 'int8' : 'float32';
}

/** Whether completions are sampled with other weights than are trained. */
export function roundsWeights({ native, lora, trainable }: Pick<Config, 'native' | 'lora' | 'trainable'>): boolean {
  const model = { ownOperators: expectsKernels(native), whole: lora === null && trainable === null };
  return rolloutDtype(native.rollout_dtype, model) !== 'float32';
}
