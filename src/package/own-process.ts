// The command of this package as a process of its own.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorKind } from '../errors.ts';
import { packageRoot } from './package-root.ts';

/** The file with which Node runs the command. */
export const launcher = join(packageRoot, 'bin', 'gradus');

const kinds: Readonly<Record<number, ErrorKind>> = { 2: 'invalid', 3: 'not_ready', 4: 'credentials' };

/** The kind of error that the command's exit code stands for; null of a process that a signal ended. */
export function errorKindOf(exitCode: number | null): ErrorKind {
  return kinds[exitCode ?? 1] ?? 'failed';
}

interface DetachedFiles {
  readonly stderr: string;
  /** Whether stderr is added to what the file holds. @default false */
  readonly append?: boolean;
  /** @default nothing is kept */
  readonly stdout?: string;
}

/**
 * Starts the command in the background, where it continues when this process ends. Returns the id of its process.
 * @param argv the command line, without the program's name
 */
export function startDetached(argv: readonly string[], { stdout, stderr, append = false }: DetachedFiles): number {
  const out = stdout === undefined ? 'ignore' : openSync(stdout, 'w');
  const log = openSync(stderr, append ? 'a' : 'w');
  const child = spawn(process.execPath, [launcher, ...argv], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', out, log],
  });
  if (out !== 'ignore') closeSync(out);
  closeSync(log);
  child.unref();
  return child.pid!;
}
