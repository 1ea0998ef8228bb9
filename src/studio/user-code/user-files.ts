// The files of the user's that a configuration runs, and whether they are what they were.
import { readFileSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import { stagesOf } from '../../config/stages.ts';

/** SHA-256, in hexadecimal digits, of each file of rewards and environments, by its path. What these import is not looked at. */
export function hashUserFiles(config: Config): Record<string, string> {
  const references = stagesOf(config).flatMap(({ config: { reward_fn, environment } }) => [
    ...(reward_fn === null ? [] : [reward_fn]),
    ...(typeof environment === 'string' ? [environment] : Object.values(environment ?? {})),
  ]);
  const paths = new Set(references.map((reference) => reference.replace(/:[\w$]+$/, '')));
  return Object.fromEntries([...paths].map((path) => [path, sha256(readFileSync(path))]));
}

/** Most configurations have no such file, and loading OpenSSL takes longer than most of what a run loads. */
function sha256(bytes: Uint8Array): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(bytes).digest('hex');
}

/** The files that are not what they were. */
export function changedFiles(before: Readonly<Record<string, string>> = {}, config: Config): string[] {
  return Object.entries(hashUserFiles(config)).flatMap(([path, hash]) =>
    path in before && before[path] !== hash ? [path] : [],
  );
}

/** Whether `path/to/file.py:name` is Python, which is loaded by other means than TypeScript. */
export function isPython(reference: string): boolean {
  return /\.py(:\w+)?$/.test(reference);
}
