// Writes rows made by a program to a file that a configuration can name.
import { open, rename } from 'node:fs/promises';
import { resolve } from 'node:path';
import { stringifyLine } from '../../formats/jsonl.ts';
import type { Example } from '../../rl.ts';

/**
 * Writes rows as JSON lines, each as soon as it comes, so that they need not fit into memory. The file appears when all rows are written. A run whose
 * data are in a file can be resumed and evaluated, unlike one whose rows exist only in a program:
 *
 * ```ts
 * const dataset = await saveRows('data/questions.jsonl', questions());
 * await train({ dataset, model, reward: 'exact_match' });
 * ```
 *
 * @returns the absolute path
 */
export async function saveRows(path: string, rows: Iterable<Example> | AsyncIterable<Example>): Promise<string> {
  const partial = `${path}.partial`;
  const file = await open(partial, 'w');
  try {
    for await (const row of rows) await file.write(stringifyLine(row));
  } finally {
    await file.close();
  }
  await rename(partial, path);
  return resolve(path);
}
