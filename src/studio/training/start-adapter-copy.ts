// The adapter that a run starts from: its directory keeps a copy, since a run that the adapter comes from may go on, move or be deleted.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { ADAPTER_FILES } from '../../hub/adapter-files.ts';
import { runFiles } from '../../runs/layout.ts';

/** The configuration with the folder in place of the adapter's name, and what to put into a new run's directory, even if that is overwritten. */
export interface StartAdapter {
  readonly config: Config;
  writeTo(directory: string): void;
}

/** Throws what finding the adapter throws. */
export async function readStartAdapter(config: Config, signal?: AbortSignal): Promise<StartAdapter> {
  if (config.adapter === null) return { config, writeTo() {} };
  const { obtainAdapter } = await import('../../backends/model-files/find-adapter.ts');
  const folder = await obtainAdapter(config.adapter, signal);
  const files = ADAPTER_FILES.map((name) => [name, readFileSync(join(folder, name))] as const);
  return {
    config: { ...config, adapter: folder },
    writeTo(directory) {
      const copy = join(directory, runFiles.startAdapter);
      mkdirSync(copy);
      for (const [name, bytes] of files) writeFileSync(join(copy, name), bytes);
    },
  };
}

/** The configuration of a run with its own copy as the adapter, if it has one. */
export function withOwnAdapter(config: Config, directory: string): Config {
  const copy = join(directory, runFiles.startAdapter);
  return config.adapter !== null && existsSync(copy) ? { ...config, adapter: copy } : config;
}
