// docs/complaints.md names tests: they exist.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const rows = readFileSync(join(root, 'docs', 'complaints.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1);

test('every complaint names existing tests', () => {
  assert.ok(rows.length >= 27);
  for (const row of rows) {
    const named = [...row.matchAll(/\[([^\]]+)\]\(\.\.\/([^)]+\.test\.ts)\)/g)];
    assert.ok(named.length > 0, row);
    for (const [, name, file] of named) {
      const titles = readFileSync(join(root, file!), 'utf8').matchAll(/\b(?:test|describe)\(\s*(['"`])(.*?)\1,/gs);
      assert.ok(
        [...titles].some(([, , title]) => title!.replaceAll('\\', '').includes(name!)),
        `${file}: ${name}`,
      );
    }
  }
});
