// Finds the material that lies beside a checkout (`../shared`: models, data) for the tests that need it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', 'shared');

/** The absolute path of something in `../shared`, or undefined where this machine lacks it. */
export function sharedPath(...parts: string[]): string | undefined {
  const path = join(root, ...parts);
  return existsSync(path) ? path : undefined;
}

/**
 * What a test's `skip` option takes: false when every path is there, else a sentence that names what is missing.
 *
 * ```ts
 * test("loads the reference model", { skip: skipWithoutShared("models") }, () => { … });
 * ```
 */
export function skipWithoutShared(...paths: string[]): string | false {
  const missing = paths.filter((path) => sharedPath(path) === undefined);
  return missing.length > 0 && `not on this machine: ${missing.map((path) => `../shared/${path}`).join(', ')}`;
}
