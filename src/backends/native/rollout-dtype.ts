// The type of the frozen weights that completions are sampled with. Loads no native library, so that runs of other backends may import it.
import type { Config } from '../../config/schema.ts';
import type { Architecture } from '../../models/families.ts';
import { missingForKernels } from '../../runtime/processor.ts';

export type RolloutDtype = Exclude<Config['native']['rollout_dtype'], 'auto'>;

/**
 * What `auto` stands for: int8 where our own operators multiply with such weights, since these round no activations, and what is learnt is the
 * same (bench/README.md); float32 elsewhere.
 */
export function rolloutDtype(setting: Config['native']['rollout_dtype'], ownOperators: boolean): RolloutDtype {
  if (setting !== 'auto') return setting;
  return ownOperators ? 'int8' : 'float32';
}

/** Why a configuration has no use for our own operators. */
export function refusedKernels({ device, matmul_precision }: Pick<Config['native'], 'device' | 'matmul_precision'>) {
  if (device !== 'cpu') return `native.device is ${device}`;
  return matmul_precision === 'highest' ? 'native.matmul_precision is highest' : undefined;
}

/** Whether our own operators will probably be used: nothing is compiled to find out. */
export function expectsKernels(native: Config['native']): boolean {
  return refusedKernels(native) === undefined && missingForKernels() === undefined;
}

/** Narrower models gain nothing from our own operators, and are computed more exactly without. */
const LEAST_WIDTH = 128;

export function gainsFromKernels({ config }: Architecture): boolean {
  return config.hiddenSize >= LEAST_WIDTH;
}

/** Whether completions are sampled with other weights than are trained. */
export function roundsWeights(native: Config['native']): boolean {
  return rolloutDtype(native.rollout_dtype, expectsKernels(native)) !== 'float32';
}
