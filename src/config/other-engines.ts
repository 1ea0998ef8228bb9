// Settings of engines other than the chosen one. Nothing reads them, but they are no error, since a file may serve several engines.
import { isDeepStrictEqual } from 'node:util';
import { backendNames } from './backend-table.ts';
import { type Config, configDefaults } from './schema.ts';
import { dotted, leafPaths, valueAt } from './values.ts';

/** Keys in the section of an engine that take effect with every engine. */
const shared: ReadonlySet<string> = new Set(['native.reward_workers']);

/** The keys of other engines' sections that differ from their defaults. */
export function settingsOfOtherEngines(config: Config): string[] {
  return leafPaths(config)
    .filter(([section]) => section !== config.backend && backendNames.some((name) => name === section))
    .filter((path) => !isDeepStrictEqual(valueAt(config, path), valueAt(configDefaults, path)))
    .map(dotted)
    .filter((key) => !shared.has(key));
}

/** A warning about them; undefined if there are none. */
export function unreadSettings(config: Config): { readonly detail: string; readonly hint: string } | undefined {
  const keys = settingsOfOtherEngines(config);
  if (keys.length === 0) return undefined;
  const engines = [...new Set(keys.map((key) => key.split('.')[0]))].join(' or ');
  return {
    detail: `backend ${config.backend} does not read ${keys.join(', ')}`,
    hint: `set backend: ${engines} to train with it, or leave the keys out; they are harmless in a file for several backends`,
  };
}
