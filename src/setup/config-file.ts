// Loads a config file, which may be the copy that a run keeps of its configuration.
import { basename, dirname } from 'node:path';
import { type LoadedConfig, loadConfigFile, loadConfigObject } from '../config/load.ts';
import type { ConfigInput } from '../config/schema.ts';
import { runFiles } from '../runs/layout.ts';
import { isRun, readResolvedConfig } from '../runs/read-run.ts';

/** Like `loadConfigFile`. If a project was moved, the copy in a run names files at their old place: they are found at their new one. */
export function openConfigFile(file: string, settings: readonly string[] = []): LoadedConfig {
  const folder = dirname(file);
  if (basename(file) !== runFiles.resolvedConfig || !isRun(folder)) return loadConfigFile(file, settings);
  return { ...loadConfigObject(readResolvedConfig(folder) as ConfigInput, settings, folder), file };
}
