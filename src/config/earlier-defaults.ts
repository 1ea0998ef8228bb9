// Defaults that were other values in earlier versions: what began with one goes on with it.
import type { LoadedConfig } from './load.ts';
import { configDefaults } from './schema.ts';
import { dotted, valueAt } from './values.ts';

const earlierDefaults: Readonly<Record<string, unknown>> = { 'native.matmul_precision': 'high' };

/**
 * The value of a key of a configuration that an earlier version may have written: a key that it did not know had what is now the default, or was then.
 */
export function begunValue(before: unknown, path: readonly string[]): unknown {
  const value = valueAt(before, path);
  return value === undefined ? (earlierDefaults[dotted(path)] ?? valueAt(configDefaults, path)) : value;
}

/** The keys whose default was another when `before` was written, with that value, unless something was given for them. */
export function keptDefaults({ origins }: Pick<LoadedConfig, 'origins'>, before: unknown): [string, unknown][] {
  return Object.entries(earlierDefaults).filter(
    ([key, earlier]) => origins[key] === 'default' && begunValue(before, key.split('.')) === earlier,
  );
}
