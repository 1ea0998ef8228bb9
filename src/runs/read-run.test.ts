// A run that has written nothing yet is told apart from a place without a run.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readKeptEvaluations } from './read-evaluation.ts';
import { readEvaluations, readMetrics, readRollouts, readSamples } from './read-run.ts';

const readers = {
  readMetrics,
  readEvaluations,
  readSamples,
  readKeptEvaluations,
  readRollouts: (directory: string) => readRollouts(directory, 1),
};

for (const [name, read] of Object.entries(readers)) {
  test(`${name}: a missing folder, and the name of a run instead of its directory`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gradus-no-run-'));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const directory of [join(folder, 'missing'), 'colours'])
      assert.throws(() => read(directory), { code: 'RUN_NOT_FOUND', path: directory, hint: /findRun/ });
    assert.deepEqual(read(folder), []);
  });
}
