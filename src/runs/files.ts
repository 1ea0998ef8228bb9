// Replaces files atomically, and reads JSON lines of which the last may be incomplete.
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { GradusError, isObject, kindOf, messageOf } from '../errors.ts';
import { parseJsonLines } from '../formats/jsonl.ts';

/** Replaces a file atomically; the new contents have reached the disk by then. */
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

/** Whether a file is a leftover of `replaceFile`, whose process was killed. */
export function isTemporaryOf(name: string, found: string): boolean {
  return found.startsWith(`${name}.`) && found.endsWith('.tmp');
}

export function replaceJson(path: string, value: object): void {
  replaceFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** The types of the fields that a line must have, by name. */
export type Fields = Readonly<Record<string, 'a number' | 'a string' | 'an array' | 'an object'>>;

/**
 * The objects of a .jsonl file; none if it does not exist. Throws `RUN_DAMAGED` for lines that are no JSON, no objects, or without the fields,
 * except an incomplete last one.
 */
export function readLines<T extends object>(path: string, fields: Fields = {}): T[] {
  return existsSync(path) ? parsed(path, (text) => objectsOf(parseJsonLines(text).values, fields) as T[]) : [];
}

/** Values that are objects with these fields. Throws for the first that is not. */
export function objectsOf(values: readonly unknown[], fields: Fields): readonly object[] {
  for (const [index, value] of values.entries()) {
    if (!isObject(value)) throw new Error(`line ${index + 1} is ${kindOf(value)}, not an object`);
    for (const [name, kind] of Object.entries(fields)) {
      if (value[name] === undefined) throw new Error(`line ${index + 1} has no ${name}`);
      if (kindOf(value[name]) !== kind)
        throw new Error(`${name} of line ${index + 1} is ${kindOf(value[name])}, not ${kind}`);
    }
  }
  return values as object[];
}

/** Throws `RUN_DAMAGED` if the text is not JSON. */
export function readJson<T>(path: string): T {
  return parsed(path, (text) => JSON.parse(text) as T);
}

function parsed<T>(path: string, parse: (text: string) => T): T {
  // Reading a pipe would wait for ever.
  if (!statSync(path).isFile()) throw damaged(path, 'it is no file');
  const text = readFileSync(path, 'utf8');
  try {
    return parse(text);
  } catch (cause) {
    throw damaged(path, messageOf(cause), cause);
  }
}

export function damaged(path: string, fault: string, cause?: unknown): GradusError {
  return new GradusError('RUN_DAMAGED', `${path} is damaged: ${fault}`, {
    hint: 'restore the file, or start the run anew with --overwrite',
    path,
    cause,
  });
}
