// The documents name the versions of Tinker's clients and servers that tests install and run.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SPOKEN_VERSION } from '../src/backends/tinker/answers.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
const installed = (name: string) =>
  new RegExp(`^${name}==(.+)$`, 'm').exec(read('python/tinker-sdk/requirements.txt'))?.[1];

/** The cells of the row of a table that begins so. */
function row(document: string, beginning: string): string[] {
  const line = read(document)
    .split('\n')
    .find((each) => each.startsWith(`| ${beginning}`));
  assert.ok(line, `${document} has no row of ${beginning}`);
  return line.split('|').map((cell) => cell.trim());
}

test('clients of the training server', () => {
  const tinker = installed('tinker');
  assert.ok(tinker);
  assert.equal(row('docs/training-server.md', '`tinker`, the library')[2], tinker);
  assert.equal(row('docs/training-server.md', '`tinker-cookbook`')[2], installed('tinker-cookbook'));
  assert.ok(row('docs/backends.md', 'Tinker |').at(-2)!.includes(`\`tinker\` ${tinker}`));
  assert.equal(SPOKEN_VERSION, tinker);
});

test('servers of backend tinker', () => {
  const skyrl = /"?skyrl[^"]*==([\d.]+)"/.exec(read('python/tinker/pyproject.toml'))?.[1];
  assert.ok(row('docs/backends.md', 'SkyRL')[1]!.includes(`SkyRL ${skyrl}`));
});
