// A few hundred damaged files of every kind; `npm run fuzz` tries ten thousand of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault, kinds } from './fuzz.ts';

const COUNT = 300;

for (const kind of Object.keys(kinds)) {
  const count = kind === 'cache files' ? COUNT / 6 : COUNT; // each starts processes
  test(`${count} damaged files, ${kind}`, { timeout: 60_000 }, async () => {
    for (let n = 0; n < count; n++) assert.equal(await fault(kind, n), undefined, `file ${n}`);
  });
}
