// Opens a run, or a configuration alone, to be evaluated or sampled from.
import { existsSync, statSync } from 'node:fs';
import { loadConfigFile, loadConfigObject } from '../../config/load.ts';
import type { Config, ConfigInput } from '../../config/schema.ts';
import { GradusError } from '../../errors.ts';
import { type Checkpoint, findCheckpoint } from '../../runs/checkpoints.ts';
import { findRun, isRun, readResolvedConfig } from '../../runs/read-run.ts';
import { type ProgramConfig, withoutValues } from '../program-values.ts';
import { openSetup, type Setup } from '../setup.ts';
import { withOwnAdapter } from '../training/start-adapter-copy.ts';

export interface FoundSubject {
  readonly config: Config;
  /** The run's directory; absent for a configuration. */
  readonly directory?: string;
  /** What the run learnt; not loaded yet. Absent for a configuration. */
  readonly checkpoint?: Checkpoint;
}

export interface Subject extends Omit<FoundSubject, 'config'> {
  readonly setup: Setup;
}

export interface SubjectOptions {
  /** `best`, `latest` or a step. @default 'best', or 'latest' where there is no best */
  readonly checkpoint?: string | undefined;
  /** Changes to the configuration, before it is opened. */
  readonly change?: (config: Config) => Config;
  /** Changes to a config file: `a.b=VALUE`, VALUE in YAML. @default none */
  readonly settings?: readonly string[] | undefined;
  /** Ends a download. */
  readonly signal?: AbortSignal | undefined;
  /** The configuration that a program trained the run with, if that held values. */
  readonly config?: ProgramConfig | undefined;
}

/**
 * Whoever opens a subject disposes of its setup. Throws what `findSubject` and opening a configuration throw.
 * @param subject a run (its directory, its name under `runs/`, or `latest`), a config file, or a configuration
 */
export async function openSubject(subject: string | ProgramConfig, options: SubjectOptions = {}): Promise<Subject> {
  const { change = (config) => config, signal } = options;
  const given = typeof subject === 'string' ? options.config : subject;
  const { config: plain, values } = given ? withoutValues(given) : {};
  const { config, ...found } = findSubject(typeof subject === 'string' ? subject : plain!, options);
  return { ...found, setup: await openSetup(change(config), { signal, values }) };
}

/**
 * The configuration that is meant, and what a run learnt with it. Throws `RUN_NOT_FOUND`, `CHECKPOINT_NOT_FOUND`, and what loading a configuration
 * throws, `USAGE` for settings of anything but a config file.
 */
export function findSubject(
  subject: string | ConfigInput,
  { checkpoint: which, settings = [] }: Pick<SubjectOptions, 'checkpoint' | 'settings'> = {},
): FoundSubject {
  if (typeof subject === 'string' && isFile(subject)) return { config: loadConfigFile(subject, settings).config };
  if (settings.length > 0) {
    throw new GradusError(
      'USAGE',
      'only a config file can be changed: a run keeps the configuration it was trained with',
      {
        hint: 'leave --set out, or give the config file',
        path: '--set',
      },
    );
  }
  if (typeof subject !== 'string') return { config: loadConfigObject(subject).config };
  const directory = isRun(subject) ? subject : findRunOrConfig(subject);
  return {
    directory,
    checkpoint: findCheckpoint(directory, which),
    config: withOwnAdapter(loadConfigObject(readResolvedConfig(directory) as ConfigInput).config, directory),
  };
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
