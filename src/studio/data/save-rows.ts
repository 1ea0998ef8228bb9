// Writes rows made by a program to a file that a configuration can name.
import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { stringifyLine } from '../../formats/jsonl.ts';
import type { Example } from '../../rl.ts';
import { makeFolder } from '../../runs/make-folder.ts';
import { faultError, type SystemFault, systemFaults } from '../../runs/system-faults.ts';

/**
 * Writes rows as JSON lines, each as soon as it comes, so that they need not fit into memory. The folder is made if it is not there; the file appears
 * when all rows are written. A run whose data are in a file can be resumed and evaluated, unlike one whose rows exist only in a program:
 *
 * ```ts
 * const dataset = await saveRows('data/questions.jsonl', questions());
 * await train({ dataset, model, reward: 'exact_match' });
 * ```
 *
 * Throws what the rows throw, and `PATH_NOT_USABLE`, `PATH_NOT_ACCESSIBLE`, `DISK_FULL` and the like if the file cannot be written.
 * @returns the absolute path
 */
export async function saveRows(path: string, rows: Iterable<Example> | AsyncIterable<Example>): Promise<string> {
  const partial = `${path}.partial`;
  const written = async <T>(work: () => T | Promise<T>) => {
    try {
      return await work();
    } catch (error) {
      throw writeError(path, error);
    }
  };
  await written(() => makeFolder(dirname(path)));
  const file = await written(() => open(partial, 'w'));
  try {
    try {
      for await (const row of rows) await written(() => file.write(stringifyLine(row)));
    } finally {
      await file.close();
    }
    await written(() => rename(partial, path));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return resolve(path);
}

const faults: Readonly<Record<string, SystemFault>> = systemFaults;

function writeError(path: string, error: unknown): unknown {
  const meaning = faults[String((error as NodeJS.ErrnoException).code)];
  return meaning ? faultError(meaning, `cannot write ${path}`, error, { path }) : error;
}
