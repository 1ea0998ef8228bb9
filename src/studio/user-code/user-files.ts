// The user's files that a configuration runs or reads, and whether they have changed since.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { splitReference, templateFile } from '../../config/references.ts';
import { userFunctions } from '../../config/reward-names.ts';
import type { Config } from '../../config/schema.ts';
import { stagesOf } from '../../config/stages.ts';
import { dataFilesIn } from '../data/data-files.ts';

/**
 * The SHA-256 hash, in hexadecimal, of each file with a reward, an environment, rows or a chat template, by its path. Files that code imports,
 * data sets of the hub and models are not included.
 */
export function hashUserFiles(config: Config): Record<string, string> {
  const configs = stagesOf(config).map((stage) => stage.config);
  const references = configs.flatMap(({ environment, ...config }) => [
    ...userFunctions(config),
    ...(typeof environment === 'string' ? [environment] : Object.values(environment ?? {})),
  ]);
  const code = references.map((reference) => splitReference(reference)[0]);
  const data = configs.flatMap(({ dataset, eval_dataset }) => [...filesOf(dataset), ...filesOf(eval_dataset)]);
  const template = filesOf(templateFile(config.chat_template));
  return Object.fromEntries(
    [...new Set([...code, ...data, ...template])].map((path) => [path, sha256(readFileSync(path))]),
  );
}

/** The files with rows of a data set, unless it comes from the hub. */
function filesOf(dataset: string | null): string[] {
  const found = dataset === null ? undefined : statSync(dataset, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found ? [dataset!] : [];
  return dataFilesIn(dataset!).map((name) => join(dataset!, name));
}

/** Loads OpenSSL only when it is called, since that is slow and most configurations have no such file. */
function sha256(bytes: Uint8Array): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(bytes).digest('hex');
}

type Hashes = Readonly<Record<string, string>>;

/** The files whose hashes, as `hashUserFiles` returns them, differ. Files that were not there before are not included. */
export function changedFiles(before: Hashes = {}, now: Hashes): string[] {
  return Object.keys(now).filter((path) => path in before && before[path] !== now[path]);
}

/** Whether a reference such as `path/to/file.py:name` is to Python. */
export function isPython(reference: string): boolean {
  return /\.py(:\w+)?$/.test(reference);
}
