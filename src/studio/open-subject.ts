// Opens a run, or a configuration alone, to be evaluated or sampled from.
import { existsSync, statSync } from 'node:fs';
import { loadConfigFile, loadConfigObject } from '../config/load.ts';
import type { Config, ConfigInput } from '../config/schema.ts';
import { GradusError } from '../errors.ts';
import { type Checkpoint, findCheckpoint, readCheckpointPointer } from '../runs/checkpoints.ts';
import { findRun, isRun, readResolvedConfig } from '../runs/read-run.ts';
import { openSetup, type Setup } from './setup.ts';

export interface Subject {
  readonly setup: Setup;
  /** The run's directory; absent for a configuration. */
  readonly directory?: string;
  /** What the run learnt; not loaded yet. Absent for a configuration. */
  readonly checkpoint?: Checkpoint;
}

export interface SubjectOptions {
  /** `best`, `latest` or a step. @default 'best', or 'latest' where there is no best */
  readonly checkpoint?: string;
  /** Changes to the configuration, before it is opened. */
  readonly change?: (config: Config) => Config;
  /** Ends a download. */
  readonly signal?: AbortSignal;
}

/**
 * Whoever opens a subject disposes of its setup. Throws `RUN_NOT_FOUND`, `CHECKPOINT_NOT_FOUND`, and what opening a configuration throws.
 * @param subject a run (its directory, its name under `runs/`, or `latest`), a config file, or a configuration
 */
export async function openSubject(subject: string | ConfigInput, options: SubjectOptions = {}): Promise<Subject> {
  const { change = (config) => config, signal } = options;
  if (typeof subject !== 'string') return { setup: await openSetup(change(loadConfigObject(subject).config), signal) };
  if (isFile(subject)) return { setup: await openSetup(change(loadConfigFile(subject).config), signal) };
  const directory = isRun(subject) ? subject : findRunOrConfig(subject);
  const which = options.checkpoint ?? (readCheckpointPointer(directory, 'best') === undefined ? 'latest' : 'best');
  const checkpoint = findCheckpoint(directory, which);
  const { config } = loadConfigObject(readResolvedConfig(directory) as ConfigInput);
  return { directory, checkpoint, setup: await openSetup(change(config), signal) };
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

/** What looks like a file's name was meant to be one. */
function findRunOrConfig(name: string): string {
  if (!/\.(ya?ml|json)$/.test(name)) return findRun(name);
  throw new GradusError('CONFIG_NOT_FOUND', `cannot read the configuration ${name}`, {
    hint: 'give the path of a config file, the directory or name of a run, or latest',
    path: name,
  });
}
