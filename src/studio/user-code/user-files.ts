// The files of the user's that a configuration runs, and whether they are what they were.
import { createHash } from 'node:crypto';
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
  return Object.fromEntries(
    [...paths].map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  );
}

/** The files that are not what they were. */
export function changedFiles(before: Readonly<Record<string, string>> = {}, config: Config): string[] {
  return Object.entries(hashUserFiles(config)).flatMap(([path, hash]) =>
    path in before && before[path] !== hash ? [path] : [],
  );
}
