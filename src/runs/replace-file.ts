// Replaces files atomically, so that no reader finds half of one, and writes values as JSON without known secrets.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { redactedValue } from '../common/redaction.ts';
import { stringifyLine } from '../formats/jsonl.ts';

/**
 * Replaces a file atomically; the new contents have reached the disk by then.
 * @param pieces the contents, or their pieces, which together may be longer than a string can be
 */
export function replaceFile(path: string, pieces: string | Iterable<string>): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(temporary, 'w');
    try {
      for (const piece of typeof pieces === 'string' ? [pieces] : pieces) writeFileSync(file, piece);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Whether a file is a leftover of `replaceFile`, whose process was killed. */
export function isTemporaryOf(name: string, found: string): boolean {
  return found.startsWith(`${name}.`) && found.endsWith('.tmp');
}

export function replaceJson(path: string, value: object): void {
  replaceFile(path, `${JSON.stringify(redactedValue(value), null, 2)}\n`);
}

/** A line of a file of a run: what servers, environments and user code say goes into it. */
export function recordLine(value: object): string {
  return stringifyLine(redactedValue(value));
}
