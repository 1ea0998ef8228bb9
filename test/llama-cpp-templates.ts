// The chat templates that llama.cpp is tested with: node-llama-cpp ships its sources as a bundle of git, which scripts/fetch-llama-cpp.ts fetches.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { llamaCppFolder } from '../scripts/fetch-llama-cpp.ts';

const bundle = join(llamaCppFolder, 'node_modules', 'node-llama-cpp', 'llama', 'gitRelease.bundle');
const path = join('models', 'templates');

/** Checks the templates out into a folder that is not there, and returns the paths of all; empty if llama.cpp has not been fetched. */
export function llamaCppTemplates(folder: string): string[] {
  if (!existsSync(bundle)) return [];
  const git = (...given: string[]) => execFileSync('git', given, { stdio: 'pipe' });
  git('clone', '--quiet', '--no-checkout', bundle, folder);
  git('-C', folder, 'checkout', 'HEAD', '--', path);
  const names = readdirSync(join(folder, path)).filter((name) => name.endsWith('.jinja'));
  return names.map((name) => join(folder, path, name));
}
