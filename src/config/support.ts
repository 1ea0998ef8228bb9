// Which keys the native backend does not act on yet: giving them a value is an error, so that nothing is silently ignored.
import { isDeepStrictEqual } from 'node:util';
import { GradusError } from '../errors.ts';
import { type Config, configSchema } from './schema.ts';
import { valueAt } from './values.ts';

/** Key in dots → the values that work; without any, only the default does. */
const limitations: Readonly<Record<string, readonly unknown[]>> = {
  backend: ['native'],
  compute: ['local'],
  preset: [],
  loss_type: ['dapo', 'grpo', 'bnpo', 'dr_grpo'],
  group_policy: [],
  resample_limit: [],
  stages: [],
  environment: [],
  environment_config: [],
  max_turns: [],
  max_episode_tokens: [],
  rollout: [],
  trackers: [],
  'lora.dropout': [],
  'native.rollout_dtype': ['float32', 'int8', 'int4'],
  'native.memory_budget': [],
  'native.reward_workers': [],
};

/** Throws `CONFIG_UNSUPPORTED` for the first key that asks for something that is not there yet. */
export function assertSupported(config: Config, placeOf: (path: readonly string[]) => string): void {
  const defaults = configSchema.parse({ model: config.model });
  for (const [key, working] of Object.entries(limitations)) {
    const path = key.split('.');
    const value = valueAt(config, path);
    const accepted = [valueAt(defaults, path), ...working];
    // Without a LoRA there is no dropout of it either.
    if (value === undefined || accepted.some((other) => isDeepStrictEqual(value, other))) continue;
    throw new GradusError(
      'CONFIG_UNSUPPORTED',
      `${placeOf(path)}: ${key}: ${JSON.stringify(value)} is not supported yet by backend native`,
      {
        hint: `leave ${key} out or set it to ${[...new Set(accepted.map((other) => JSON.stringify(other)))].join(', ')}`,
        path: key,
      },
    );
  }
}
