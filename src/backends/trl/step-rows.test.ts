// Steps in the form that TRL needs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TrainingSequence } from '../../training-model.ts';
import { stepRows } from './step-rows.ts';

const sequence = (completionIds: readonly number[]): TrainingSequence => ({
  promptIds: [1, 4],
  completionIds,
  mask: completionIds.map((id) => id > 5),
  advantage: 0.5,
});

test('a step is filled up with rows from which nothing is learnt', () => {
  const rows = stepRows([sequence([8, 2, 9]), { ...sequence([7]), samplerLogprobs: [-1] }], 4);
  assert.deepEqual(rows[0], {
    prompt_ids: [1, 4],
    completion_ids: [8, 2, 9],
    mask: [1, 0, 1],
    logprobs: [0, 0, 0],
    advantage: 0.5,
  });
  assert.deepEqual(rows[1]!.logprobs, [-1]);
  const empty = { prompt_ids: [1, 4], completion_ids: [0], mask: [0], logprobs: [0], advantage: 0 };
  assert.deepEqual(rows.slice(2), [empty, empty]);
});

test('more sequences than a step has rows are refused', () => {
  assert.throws(() => stepRows([sequence([7]), sequence([8])], 1), { code: 'BATCH_TOO_LARGE' });
});
