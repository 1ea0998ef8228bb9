// A lock that lets only one process at a time start a run in a directory. Afterwards run.json, which names the process, keeps others away.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GradusError } from '../errors.ts';
import { shellWord } from '../shell-word.ts';
import { runFiles } from './layout.ts';
import { isAlive, processStart } from './processes.ts';

/** Runs `begin` while no other process does so in this directory. Throws `RUN_ACTIVE` if one does. */
export function claimed<T>(directory: string, begin: () => T): T {
  const path = join(directory, runFiles.claim);
  try {
    writeFileSync(path, `${process.pid} ${processStart(process.pid) ?? ''}`, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const [pid, start] = claimant(path);
    if (isAlive(Number(pid), start || undefined)) {
      throw new GradusError('RUN_ACTIVE', `process ${pid} is about to write ${directory}`, {
        hint: `choose another --name or --out, or wait for it: gradus runs wait ${shellWord(directory)}`,
        path: directory,
      });
    }
    // The process that held the claim was killed.
    rmSync(path, { force: true });
    return claimed(directory, begin);
  }
  try {
    return begin();
  } finally {
    rmSync(path, { force: true });
  }
}

/** The id and the start of the process that holds the claim; empty if it has just released it. */
function claimant(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split(' ');
  } catch {
    return [];
  }
}
