// A command in a process with too few resources: one JSON object, even if Node itself gives up.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const launcher = join(import.meta.dirname, '..', 'bin', 'gradus');
const skip = process.platform === 'linux' ? false : 'needs limits as Linux has them';

function answer(limit: string, options: string, ...args: readonly string[]) {
  const line = `ulimit ${limit}; exec "$0" "$@"`;
  const { stdout, status } = spawnSync('sh', ['-c', line, process.execPath, launcher, ...args, '--json'], {
    env: { ...process.env, NODE_OPTIONS: options },
    encoding: 'utf8',
  });
  return { ...(JSON.parse(stdout) as { ok: boolean; exit_code?: number; error?: { code: string } }), status };
}

test('limits that are high enough change nothing', { skip }, () => {
  assert.equal(answer('-v 30000000', '', 'presets').ok, true);
  assert.equal(answer('-n 40', '', 'presets').ok, true);
});

test('if Node runs out of memory, the answer says so', { skip }, () => {
  const { ok, error, exit_code, status } = answer('-v 30000000', '--max-old-space-size=10', 'config-schema');
  assert.deepEqual([ok, error?.code, exit_code, status], [false, 'OUT_OF_MEMORY', 1, 1]);
});
