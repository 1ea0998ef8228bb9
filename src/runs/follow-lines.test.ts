// Lines as they are added to a file, whole ones only.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { replaceFile } from './files.ts';
import { LineFollower } from './follow-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'gradus-follow-'));
after(() => rmSync(folder, { recursive: true }));

test('each line is told once, when it is complete', () => {
  const path = join(folder, 'events.jsonl');
  const follower = new LineFollower<{ n: number | string }>(path);
  assert.deepEqual(follower.next(), []);
  writeFileSync(path, '{"n":1}\n{"n":2}\n{"n"');
  assert.deepEqual(follower.next(), [{ n: 1 }, { n: 2 }]);
  assert.deepEqual(follower.next(), []);
  appendFileSync(path, ':"drei"}\n');
  assert.deepEqual(follower.next(), [{ n: 'drei' }]);
  appendFileSync(path, '{"n":"é"}\n{"n":5');
  assert.deepEqual(follower.next(), [{ n: 'é' }]);
});

test('a file that is begun anew is read anew', () => {
  const path = join(folder, 'again.jsonl');
  writeFileSync(path, '{"n":1}\n{"n":2}\n');
  const follower = new LineFollower<{ n: number }>(path);
  assert.equal(follower.next().length, 2);
  writeFileSync(path, '{"n":3}\n');
  assert.equal(follower.restarts, 0);
  assert.deepEqual(follower.next(), [{ n: 3 }]);
  assert.equal(follower.restarts, 1);
  replaceFile(path, '{"n":4}\n{"n":5}\n');
  assert.deepEqual(follower.next(), [{ n: 4 }, { n: 5 }], 'also if it is no shorter');
  assert.equal(follower.restarts, 2);
});
