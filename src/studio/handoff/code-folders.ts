// Copies the folders of the user's reward functions into a hand-off, and points the configuration to the copies.
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { splitReference } from '../../config/references.ts';
import { placedRewards, userFunctions } from '../../config/reward-names.ts';
import type { Config } from '../../config/schema.ts';

/** Names that are never copied with a folder: installed packages, secrets, and files that Gradus or Python made. */
const left = /^(node_modules|\.git|\.venv|__pycache__|runs|\.cache|\.env.*)$/;

/**
 * Copies the whole folder of each function, since code imports what lies beside it, to `code/0`, `code/1`, …
 * @param out the hand-off, which is not copied itself
 * @returns the configuration with paths relative to `to`
 */
export function copyCode(config: Config, to: string, out: string): Config {
  const folders = [...new Set(userFunctions(config).map((reference) => dirname(splitReference(reference)[0])))];
  for (const [i, folder] of folders.entries()) copyFolder(folder, join(to, 'code', `${i}`), out);
  const placed = (reference: string) => {
    const [file, name] = splitReference(reference);
    const there = `./code/${folders.indexOf(dirname(file))}/${basename(file)}`;
    return name === undefined ? there : `${there}:${name}`;
  };
  const { reward, reward_fn } = config;
  return { ...config, reward: placedRewards(reward, placed), reward_fn: reward_fn && placed(reward_fn) };
}

/**
 * Copies all but `left` and hand-offs: this one, which may lie within the folder (cpSync refuses that, whatever its filter), and others, which hold
 * copies of code.
 */
function copyFolder(from: string, to: string, out: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter((each) => !left.test(each))) {
    const path = join(from, name);
    if (resolve(path) === out || existsSync(join(path, 'gradus.json'))) continue;
    if (lstatSync(path).isDirectory()) copyFolder(path, join(to, name), out);
    else cpSync(path, join(to, name));
  }
}
