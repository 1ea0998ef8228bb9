// The README's blocks that are marked `<!-- test -->` run here exactly as written, so outdated documents fail.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/<!-- test -->\n```sh\n([\s\S]*?)```/g)].map(([, block]) => block!);

test('the README has blocks to run', () => assert.ok(blocks.length > 0));

for (const block of blocks) {
  test(`README: ${block.split('\n')[0]}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'gradus-readme-'));
    try {
      cpSync(join(root, 'configs'), join(folder, 'configs'), { recursive: true });
      // `npx gradus` and `gradus` as an installed package has them.
      const bin = join(folder, 'node_modules', '.bin');
      mkdirSync(bin, { recursive: true });
      writeFileSync(
        join(bin, 'gradus'),
        `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'bin', 'gradus')}" "$@"\n`,
      );
      chmodSync(join(bin, 'gradus'), 0o755);
      execFileSync('bash', ['-euo', 'pipefail', '-c', block], {
        cwd: folder,
        env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
