// One process at a time begins a run in a directory, whatever became of those before.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { claimed } from './claim.ts';
import { processStart } from './processes.ts';
import { RunStore } from './run-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'gradus-claim-'));
after(() => rmSync(folder, { recursive: true }));
const lock = join(folder, 'run.lock');

test('a directory that another process has claimed is left alone', () => {
  writeFileSync(lock, `${process.ppid} ${processStart(process.ppid) ?? ''}`);
  assert.throws(() => claimed(folder, () => assert.fail()), { code: 'RUN_ACTIVE', path: folder });
  const record = { backend: 'native', versions: {}, started: '2026-01-01T00:00:00Z', max_steps: 4 };
  const begin = () => RunStore.create({ directory: folder, configText: '', config: {}, record });
  assert.throws(begin, { code: 'RUN_ACTIVE' });
  assert.deepEqual(readdirSync(folder), ['run.lock']);

  rmSync(lock);
  assert.equal(begin().record.status, 'running');
  assert.ok(!readdirSync(folder).includes('run.lock'));
});

test('the claim of a process that is gone is taken over, and given up whatever happens', () => {
  for (const left of [`${spawnSync(process.execPath, ['--version']).pid} 1`, '']) {
    writeFileSync(lock, left);
    assert.equal(
      claimed(folder, () => 'begun'),
      'begun',
    );
  }
  assert.throws(() => claimed(folder, () => assert.fail('no')), { message: 'no' });
  assert.ok(!readdirSync(folder).includes('run.lock'));
});
