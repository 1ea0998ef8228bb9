// What keys say to one another: choices that exclude each other, keys that need another one, and what no run can do without.
import { isDeepStrictEqual } from 'node:util';
import { GradusError } from '../errors.ts';
import { type Config, configSchema } from './schema.ts';

type Key = keyof Config;

/** At most one of each. */
const exclusive: readonly (readonly Key[])[] = [
  ['dataset', 'taskset'],
  ['eval_dataset', 'eval_fraction'],
  ['eval_split', 'eval_fraction'],
  ['max_steps', 'num_train_epochs'],
];

/** Key → the key without which it would have no effect. */
const needs: Partial<Record<Key, Key>> = {
  taskset_config: 'taskset',
  dataset_config: 'dataset',
  dataset_split: 'dataset',
  eval_dataset: 'dataset',
  eval_split: 'dataset',
  eval_fraction: 'dataset',
  num_train_epochs: 'dataset',
};

/** At least one of each. */
const required: readonly { readonly keys: readonly Key[]; readonly what: string }[] = [
  { keys: ['dataset', 'taskset'], what: 'the problems' },
  { keys: ['reward', 'reward_fn'], what: 'how answers are scored' },
];

/** Throws `CONFIG_CONFLICT`, or `CONFIG_MISSING`. */
export function assertConsistent(config: Config, placeOf: (path: readonly string[]) => string): void {
  // What only repeats a default says nothing, so that a resolved configuration may be run again.
  const defaults = configSchema.parse({ model: config.model });
  const isGiven = (key: Key) => !isDeepStrictEqual(config[key], defaults[key]);
  const conflict = (key: Key, fault: string, hint: string) => {
    throw new GradusError('CONFIG_CONFLICT', `${placeOf([key])}: ${key} ${fault}`, { hint, path: key });
  };

  for (const keys of exclusive) {
    const [first, second] = keys.filter(isGiven);
    if (first && second) conflict(second, `and ${first} exclude one another`, `leave one of ${keys.join(', ')}`);
  }
  for (const [key, other] of Object.entries(needs) as [Key, Key][]) {
    if (isGiven(key) && !isGiven(other))
      conflict(key, `has no effect without ${other}`, `remove ${key} or add ${other}`);
  }
  for (const { keys, what } of required) {
    if (keys.some((key) => isGiven(key))) continue;
    throw new GradusError('CONFIG_MISSING', `${placeOf([])}: ${keys.join(' or ')} is missing: ${what}`, {
      hint: `add ${keys.join(' or ')}`,
      path: keys[0]!,
    });
  }
  const ceiling = 1 + (config.epsilon_high ?? config.epsilon);
  if (config.delta !== null && config.delta <= ceiling) {
    conflict('delta', `must be more than 1 + epsilon_high = ${ceiling}`, 'raise delta or leave it out');
  }
}
