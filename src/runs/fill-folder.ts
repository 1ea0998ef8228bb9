// Fills folders completely or not at all: a partial export or hand-off must not be taken for a whole one.
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { isAlive } from './processes.ts';
import { systemError } from './system-faults.ts';

/** Begins the name of the folder, within the one that is filled, that holds the files until all are written. The id of the process follows. */
const INCOMPLETE = '.incomplete-';

/** Whether there is no such folder, or nothing in it but what `fillFolder` is writing there or was when its process was killed. */
export function isVacant(folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  return !found || (found.isDirectory() && readdirSync(folder).every((name) => name.startsWith(INCOMPLETE)));
}

/**
 * Moves files and folders into a folder, over others of the same names, once all of them are written.
 * @param write puts them into the folder it is given
 * @param assertFree throws if another process has filled the folder meanwhile
 */
export async function fillFolder(
  folder: string,
  write: (target: string) => void | Promise<void>,
  assertFree: () => void,
): Promise<void> {
  let target: string | undefined;
  try {
    makeFolder(folder);
    removeAbandoned(folder);
    target = mkdtempSync(join(folder, `${INCOMPLETE}${process.pid}-`));
    await write(target);
    assertFree();
    for (const name of readdirSync(target)) {
      rmSync(join(folder, name), { recursive: true, force: true });
      renameSync(join(target, name), join(folder, name));
    }
  } catch (error) {
    throw systemError(error, folder);
  } finally {
    if (target !== undefined) rmSync(target, { recursive: true, force: true });
  }
}

/** Removes what processes that were killed have left. */
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder)) {
    const isOurs = name.startsWith(INCOMPLETE) && !isAlive(Number.parseInt(name.slice(INCOMPLETE.length), 10));
    if (isOurs) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
