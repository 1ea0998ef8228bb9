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

interface Requirement {
  /** At least one of them. */
  readonly keys: readonly Key[];
  readonly what: string;
  readonly hint: string;
  readonly unless?: (config: Config) => boolean;
}

const required: readonly Requirement[] = [
  {
    keys: ['model'],
    what: 'what is taught',
    hint: 'add model: HuggingFaceTB/SmolLM2-135M-Instruct, or the path of a model folder',
    unless: ({ backend }) => backend === 'builtin',
  },
  { keys: ['dataset', 'taskset'], what: 'the problems', hint: 'add dataset or taskset' },
  {
    keys: ['reward', 'reward_fn'],
    what: 'how answers are scored',
    hint: 'add reward or reward_fn',
    // It may bring its own; one that does not is refused when it is opened.
    unless: ({ taskset }) => taskset !== null,
  },
];

/** Throws `CONFIG_CONFLICT`, or `CONFIG_MISSING`. */
export function assertConsistent(config: Config, placeOf: (path: readonly string[]) => string): void {
  // What only repeats a default says nothing, so that a resolved configuration may be run again.
  const defaults = configSchema.parse({});
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
  for (const { keys, what, hint, unless } of required) {
    if (keys.some((key) => isGiven(key)) || unless?.(config)) continue;
    throw new GradusError('CONFIG_MISSING', `${placeOf([])}: ${keys.join(' or ')} is missing: ${what}`, {
      hint,
      path: keys[0]!,
    });
  }
  const ceiling = 1 + (config.epsilon_high ?? config.epsilon);
  if (config.delta !== null && config.delta <= ceiling) {
    conflict('delta', `must be more than 1 + epsilon_high = ${ceiling}`, 'raise delta or leave it out');
  }
}
