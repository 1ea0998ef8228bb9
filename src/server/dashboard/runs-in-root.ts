// Finds the runs in a directory by name; no name can lead out of the directory.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { existingNames } from '../../common/nearest.ts';
import { GradusError } from '../../errors.ts';
import { isRun } from '../../runs/read-run.ts';

/** The names of all runs, in the order of the file system; none if there is no such directory. */
export function runNames(root: string): string[] {
  const names = existsSync(root) && statSync(root).isDirectory() ? readdirSync(root) : [];
  return names.filter((name) => isRunHere(join(root, name)));
}

/** The directory of a run. Only names that the root lists are accepted: not `..`, not paths, and not runs that are gone. Throws `RUN_NOT_FOUND`. */
export function runNamed(root: string, name: string): string {
  const names = runNames(root);
  if (names.includes(name)) return join(root, name);
  throw new GradusError('RUN_NOT_FOUND', `there is no run ${JSON.stringify(name)} under ${root}`, {
    hint: names.length > 0 ? existingNames(name, names) : `there are no runs under ${root} yet`,
  });
}

/** A run may be removed between two checks. */
export function isRunHere(directory: string): boolean {
  try {
    return isRun(directory);
  } catch {
    return false;
  }
}
