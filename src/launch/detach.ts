// Starts training in a separate process, which continues when this one ends.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import { assertConfirmed } from '../modal/rental.ts';
import { packageRoot } from '../package/package-root.ts';
import { ownVersions } from '../package/versions.ts';
import { claimed } from '../runs/claim.ts';
import { runFiles } from '../runs/layout.ts';
import { makeFolder } from '../runs/make-folder.ts';
import { emptyRun, reserveRun } from '../runs/reservation.ts';
import { assertWritable } from '../training/open-run.ts';
import { type RunPlace, resolveRun } from '../training/resolved-run.ts';
import { loadConfig } from './train.ts';

const launcher = join(packageRoot, 'bin', 'gradus');

export interface DetachOptions extends RunPlace {
  readonly settings: readonly string[];
  readonly require: readonly string[];
  /** Whether to accept the cost in the plan, if a machine is rented. @default false */
  readonly yes?: boolean;
  /** The command line of the process, without the program's name. */
  readonly argv: readonly string[];
}

export interface DetachedRun {
  readonly run: {
    readonly id: string;
    readonly dir: string;
    readonly backend: string;
    readonly status: 'starting';
    readonly pid: number;
  };
  /** The file with the process's stderr. */
  readonly log: string;
  /** The run's path, as it was given. */
  readonly reference: string;
}

/**
 * Returns at once. Errors in the configuration or the directory are thrown here; later ones, such as a missing model, are recorded in run.json and
 * told by whoever reads it.
 */
export function detachTraining(configFile: string, options: DetachOptions): DetachedRun {
  const run = resolveRun(loadConfig(configFile, options.settings), options, options.require);
  const { config, directory, reference, resume } = run;
  assertConfirmed(run, options.yes ?? false);
  assertWritable(run);
  const logs = join(directory, runFiles.logs);
  const log = join(logs, 'train.log');
  const { backend } = config;
  makeFolder(logs);
  const child = claimed(directory, () => {
    // Another process may have reserved the directory meanwhile.
    assertWritable(run);
    if (!resume) emptyRun(directory);
    const stderr = openSync(log, resume ? 'a' : 'w');
    const started = spawn(process.execPath, [launcher, ...options.argv], {
      detached: true,
      stdio: ['ignore', 'ignore', stderr],
    });
    closeSync(stderr);
    // The directory is reserved before the process begins to look for one.
    const record = {
      backend,
      versions: ownVersions(),
      started: new Date().toISOString(),
      max_steps: config.max_steps ?? 0,
    };
    reserveRun(directory, started.pid!, resume ? undefined : record);
    return started;
  });
  child.unref();
  return {
    run: { id: basename(directory), dir: directory, backend, status: 'starting', pid: child.pid! },
    log,
    reference,
  };
}
