// Writes rows made by a program to a file that a configuration can name.
import { open, rename } from 'node:fs/promises';
import { resolve } from 'node:path';
import { stringifyLine } from '../../formats/jsonl.ts';
import type { Example } from '../../rl.ts';

/**
 * Writes rows as JSON lines, one after another as they come, so that none of them need be held. The file is there when all of them are.
 * It is what makes such a run one that can be resumed and evaluated:
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
