// Fetches llama.cpp as node-llama-cpp ships it, for the benchmark of sampling and the engine tests that compare with it.
//
//   node scripts/fetch-llama-cpp.ts
//
// It is installed apart from this package, under .cache: 85 MB with the binary for this machine's CPU, and nothing that builds.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const LLAMA_CPP_VERSION = '3.22.1';

/** Where node-llama-cpp and its binary are, once fetched. */
export const llamaCppFolder = join(
  import.meta.dirname,
  ...['..', '.cache', 'bench', `node-llama-cpp-${LLAMA_CPP_VERSION}`],
);

/** Fetches node-llama-cpp, unless it is there already. */
export function fetchLlamaCpp(): void {
  if (existsSync(join(llamaCppFolder, 'node_modules', 'node-llama-cpp'))) return;
  const packages = ['node-llama-cpp', `@node-llama-cpp/linux-${process.arch}`].map(
    (name) => `${name}@${LLAMA_CPP_VERSION}`,
  );
  const options = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', '--prefix', llamaCppFolder, ...options, ...packages], { stdio: 'inherit' });
}

if (import.meta.main) fetchLlamaCpp();
