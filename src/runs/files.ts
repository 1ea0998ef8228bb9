// Writing so that a crash leaves the old file or the new one, and reading lines whose last may be torn.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { parseJsonLines } from '../formats/jsonl.ts';

/** Replaces a file in one piece, which is on the disk by then. */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text, { flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

export function replaceJson(path: string, value: object): void {
  replaceFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** The values of a .jsonl file; none if there is no such file yet. Throws `JSONL_LINE_INVALID` for a bad line other than a torn last one. */
export function readLines<T>(path: string): T[] {
  return existsSync(path) ? (parseJsonLines(readFileSync(path, 'utf8')).values as T[]) : [];
}

export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}
