// Lets Node import TypeScript from inside node_modules, such as the reward of the bundled demo.
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const installed = /^file:.*\/node_modules\/.*\.[cm]?ts$/;

let allowed = false;

/** From now on Node imports such files too, which it otherwise refuses, their types left out as everywhere else. */
export function allowInstalledTypeScript(): void {
  if (allowed) return;
  allowed = true;
  registerHooks({
    load: (url, context, nextLoad) =>
      installed.test(url)
        ? { format: 'module', source: withoutTypes(readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true }
        : nextLoad(url, context),
  });
}

function withoutTypes(source: string): string {
  const { emitWarning } = process;
  // Node warns that this function is experimental, which is no news to whoever runs a demo.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
