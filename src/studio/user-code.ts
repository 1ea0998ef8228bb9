// Loads what users write in TypeScript or JavaScript: reward functions.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { GradusError, messageOf } from '../errors.ts';
import { existingNames } from '../nearest.ts';
import type { RewardFunction } from '../rewards.ts';
import { allowInstalledTypeScript } from './installed-typescript.ts';

/**
 * Imports `path/to/file.ts:name`. Without a name it is the export `reward`, or else the default export. Node runs TypeScript by leaving
 * the types out, so the file may not need compiling: no enums, no parameter properties.
 *
 * Throws `REWARD_LOAD_FAILED` if the file is missing or does not run, or does not export such a function.
 * @param folder what a relative path is relative to
 */
export async function loadRewardFunction(reference: string, folder = process.cwd()): Promise<RewardFunction> {
  const [, path, name] = /^(.*?)(?::([\w$]+))?$/s.exec(reference)!;
  const file = resolve(folder, path!);
  if (!/\.[cm]?[jt]s$/.test(file))
    throw loadFailed(file, 'it is no .ts or .js file', 'write it as rewards/mine.ts:name');
  if (!existsSync(file)) throw loadFailed(file, 'the file is missing', `paths are relative to ${folder}`);

  const exported = await importFile(file);
  const names = Object.keys(exported);
  const found = name ?? ['reward', 'default'].find((candidate) => names.includes(candidate)) ?? 'reward';
  if (!names.includes(found)) {
    const hint = names.length === 0 ? 'it exports nothing' : `of its exports ${existingNames(found, names)}`;
    throw loadFailed(file, `it does not export ${found}`, hint);
  }
  const value = exported[found];
  if (typeof value === 'function') return value as RewardFunction;
  throw loadFailed(file, `its export ${found} is no function but ${value === null ? 'null' : typeof value}`, shape);
}

const shape = 'a reward is a function: ({ completions, columns }) => one number or null a completion';

async function importFile(file: string): Promise<Record<string, unknown>> {
  allowInstalledTypeScript();
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const place = placeIn(stack) ?? (error instanceof SyntaxError ? placeIn(await checkSyntax(file)) : undefined);
    const message = messageOf(error).replaceAll(/\s+/g, ' ');
    const hint = place === undefined ? 'mend the file, and whatever it imports' : `see ${place}`;
    throw new GradusError('REWARD_LOAD_FAILED', `cannot load ${file}: ${message}`, { hint, path: file, cause: error });
  }
}

/** `file:line` from the head of a stack, where Node puts it for syntax errors, or from its first frame in user code. */
function placeIn(stack: string): string | undefined {
  const match = /^(?:file:\/\/)?(\/.*:\d+)\n/.exec(stack) ?? /^\s+at .*?file:\/\/(.*?:\d+):\d+\)?$/m.exec(stack);
  return match?.[1];
}

/** What `node --check` says: a syntax error in JavaScript that was imported does not know its line. */
function checkSyntax(file: string): Promise<string> {
  return new Promise((done) => {
    execFile(process.execPath, ['--check', file], (_error, _stdout, stderr) => done(stderr));
  });
}

function loadFailed(file: string, fault: string, hint: string): GradusError {
  return new GradusError('REWARD_LOAD_FAILED', `cannot load the reward ${file}: ${fault}`, { hint, path: file });
}
