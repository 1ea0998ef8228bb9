// Random batches under random settings: every loss, its gradient and its metrics are what TRL's own trainer computes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lossCheck } from './conformance.ts';
import type { LossVector, VectorBatch } from './loss-vectors.ts';

const root = join(import.meta.dirname, '..', '..');
const python = join(root, 'python/.venv/bin/python');
const skip = !existsSync(python) && 'python/.venv is not there: run `make test-engines`';
const [seed, count] = [1, 80];

test('losses of random batches under random settings are TRL’s', { skip }, () => {
  const command = [join(root, 'python/oracles/random_losses.py'), String(seed), String(count)];
  const told = execFileSync(python, command, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 2 ** 26 });
  const { batches, losses } = JSON.parse(told) as {
    batches: Record<string, VectorBatch>;
    losses: readonly LossVector[];
  };
  assert.equal(losses.length, count);
  for (const vector of losses) {
    const { difference, ok } = lossCheck(vector, batches[vector.batch]!);
    assert.ok(ok, `${difference} with ${JSON.stringify(vector.settings)} on batch ${vector.batch}`);
  }
});
