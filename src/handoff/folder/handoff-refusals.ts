// The one error for all keys of a configuration that have no counterpart in another system.
import { isDeepStrictEqual } from 'node:util';
import { type Config, configDefaults } from '../../config/schema.ts';
import { valueAt } from '../../config/values.ts';
import { GradusError } from '../../errors.ts';
import type { HandoffRow } from './handoff-row.ts';

/** Throws `HANDOFF_UNSUPPORTED`, which names every key that the table refuses, and why; `system` is the name of the system that cannot train it. */
export function assertNoneRefused(system: string, mapping: Readonly<Record<string, HandoffRow>>, config: Config): void {
  const refused = Object.entries(mapping).flatMap(([key, { refusal }]) => {
    const path = key.split('.');
    const value = valueAt(config, path);
    // A section that is null has no settings.
    const isDefault = value === undefined || isDeepStrictEqual(value, valueAt(configDefaults, path));
    const why = refusal?.(config, isDefault);
    return why === undefined ? [] : [{ key, why }];
  });
  const [first] = refused;
  if (!first) return;
  const reasons = Map.groupBy(refused, ({ why }) => why);
  const told = [...reasons].map(([why, rows]) => `${rows.map(({ key }) => key).join(', ')}: ${why}`);
  throw new GradusError('HANDOFF_UNSUPPORTED', `${system} cannot train this configuration: ${told.join('; ')}`, {
    hint: 'change them, also with --set, or train with backend trl',
    path: first.key,
  });
}
