// Settings of engines other than the one that is chosen, which nothing reads: a file may serve several, so that they are no error.
import { isDeepStrictEqual } from 'node:util';
import { backendNames } from './backend-table.ts';
import { type Config, configDefaults } from './schema.ts';
import { dotted, leafPaths, valueAt } from './values.ts';

/** Keys in the section of an engine that act with every one. */
const shared: ReadonlySet<string> = new Set(['native.reward_workers']);

/** The keys of other engines' sections that differ from their defaults. */
export function settingsOfOtherEngines(config: Config): string[] {
  return leafPaths(config)
    .filter(([section]) => section !== config.backend && backendNames.some((name) => name === section))
    .filter((path) => !isDeepStrictEqual(valueAt(config, path), valueAt(configDefaults, path)))
    .map(dotted)
    .filter((key) => !shared.has(key));
}

/** What is to be said of them; undefined if there are none. */
export function unreadSettings(config: Config): { readonly detail: string; readonly hint: string } | undefined {
  const keys = settingsOfOtherEngines(config);
  if (keys.length === 0) return undefined;
  const engines = [...new Set(keys.map((key) => key.split('.')[0]))].join(' or ');
  return {
    detail: `backend ${config.backend} does not read ${keys.join(', ')}`,
    hint: `set backend: ${engines} to train with it, or leave the keys out; in a file for several backends they do no harm`,
  };
}
