// Steps as TRL takes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TrainingSequence } from '../../model.ts';
import { stepRows } from './step-rows.ts';

const sequence = (group: string, reward: number | null, completionIds: readonly number[]): TrainingSequence => ({
  ...{ promptIds: [1, group.charCodeAt(0)], completionIds, mask: completionIds.map((id) => id > 5) },
  ...{ advantage: 9, group, reward },
});

test('groups come whole and one after the other, whatever the order of sequences', () => {
  const sequences = [sequence('a', 1, [7]), sequence('b', null, [8, 2, 9]), sequence('a', 0, [6])];
  const unlearnt = [{ group: 'a', reward: 0.5 }];
  const { rows, places } = stepRows({ sequences, unlearnt }, { groups: 3, generations: 3 });
  assert.deepEqual(places, [0, 3, 1]);
  assert.deepEqual(
    rows.map(({ score }) => score),
    [1, 0, 0.5, null, null, null, null, null, null],
  );
  assert.deepEqual(rows[3], {
    ...{ prompt_ids: [1, 98], completion_ids: [8, 2, 9], mask: [1, 0, 1], logprobs: [0, 0, 0], score: null },
  });
  assert.ok([2, 4, 5, 6, 7, 8].every((row) => rows[row]!.mask.every((learnt) => learnt === 0)));
  assert.ok(
    rows.every(
      ({ completion_ids, mask, logprobs }) =>
        new Set([completion_ids, mask, logprobs].map(({ length }) => length)).size === 1,
    ),
  );
});

test('sequences without groups are compared with one another, by their advantages', () => {
  const sequences = [1, -1].map((advantage) => ({ promptIds: [1], completionIds: [2], mask: [true], advantage }));
  const { rows } = stepRows({ sequences }, { groups: 1, generations: 2 });
  assert.deepEqual(
    rows.map(({ score }) => score),
    [1, -1],
  );
});

test('a step holds what it holds', () => {
  const sequences = [sequence('a', 1, [7]), sequence('b', 1, [7])];
  assert.throws(() => stepRows({ sequences }, { groups: 1, generations: 2 }), { code: 'BATCH_TOO_LARGE' });
});
