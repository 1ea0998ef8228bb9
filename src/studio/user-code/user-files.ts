// The user's files that a configuration runs, and whether they have changed since.
import { readFileSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import { stagesOf } from '../../config/stages.ts';

/** The SHA-256 hash, in hexadecimal, of each file with a reward or an environment, by its path. Files that these import are not included. */
export function hashUserFiles(config: Config): Record<string, string> {
  const references = stagesOf(config).flatMap(({ config: { reward_fn, environment } }) => [
    ...(reward_fn === null ? [] : [reward_fn]),
    ...(typeof environment === 'string' ? [environment] : Object.values(environment ?? {})),
  ]);
  const paths = new Set(references.map((reference) => reference.replace(/:[\w$]+$/, '')));
  return Object.fromEntries([...paths].map((path) => [path, sha256(readFileSync(path))]));
}

/** Loads OpenSSL only when it is called, since that is slow and most configurations have no such file. */
function sha256(bytes: Uint8Array): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(bytes).digest('hex');
}

/** The files whose hash differs from `before`. */
export function changedFiles(before: Readonly<Record<string, string>> = {}, config: Config): string[] {
  return Object.entries(hashUserFiles(config)).flatMap(([path, hash]) =>
    path in before && before[path] !== hash ? [path] : [],
  );
}

/** Whether a reference such as `path/to/file.py:name` is to Python. */
export function isPython(reference: string): boolean {
  return /\.py(:\w+)?$/.test(reference);
}
