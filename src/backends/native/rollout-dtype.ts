// The type of the weights that completions are sampled with. Loads neither a native library nor the models, so that runs of other backends may import it.
import type { Config } from '../../config/schema.ts';
import type { rolloutDtypes } from '../../config/sections.ts';
import { expectsKernels } from './kernel-use.ts';

type Setting = (typeof rolloutDtypes)[number];
export type RolloutDtype = Exclude<Setting, 'auto'>;

export interface RolloutModel {
  readonly customOperators: boolean;
  /** Whether all parameters of the model are trained. */
  readonly whole: boolean;
}

/**
 * Resolves `auto`: int8 with our custom operators, with which a run learns the same (bench/README.md); else float32.
 * Trained weights are rounded again after each update, which only the custom operators can do.
 */
export function rolloutDtype(setting: Setting, { customOperators, whole }: RolloutModel): RolloutDtype {
  if (whole && !customOperators) return 'float32';
  if (setting !== 'auto') return setting;
  return customOperators ? 'int8' : 'float32';
}

/** Whether completions are sampled with weights of a different precision from the trained ones. */
export function roundsWeights({ native, lora, trainable }: Pick<Config, 'native' | 'lora' | 'trainable'>): boolean {
  const model = { customOperators: expectsKernels(native), whole: lora === null && trainable === null };
  return rolloutDtype(native.rollout_dtype, model) !== 'float32';
}
