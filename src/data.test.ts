// Batches: every row once an epoch, and the same wherever a run goes on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shuffledBatches } from './data.ts';

const rows = Array.from({ length: 10 }, (_, id) => ({ id }));

function ids(batchSize: number, steps: number, { from = 0, seed = 0 } = {}): number[][] {
  const batches = shuffledBatches(rows, { batchSize, seed }).batches(from);
  return Iterator.from(batches)
    .take(steps)
    .map((batch) => batch.map(({ id }) => id))
    .toArray();
}

test('every epoch has every row once, in an order of its own', () => {
  const order = ids(4, 5).flat();
  const [first, second] = [order.slice(0, 10), order.slice(10)];
  assert.deepEqual(first.toSorted(), second.toSorted());
  assert.equal(new Set(first).size, 10);
  assert.notDeepEqual(first, second);
  assert.notDeepEqual(
    first,
    rows.map(({ id }) => id),
  );
});

test('the batch size cuts the same order into other pieces', () => {
  assert.deepEqual(ids(3, 10).flat(), ids(5, 6).flat());
  assert.deepEqual(ids(25, 2).flat(), ids(1, 50).flat());
});

test('starting at a step gives what a run that came there would get', () => {
  const whole = ids(4, 20);
  for (const from of [1, 2, 3, 7, 13]) assert.deepEqual(ids(4, 20 - from, { from }), whole.slice(from));
});

test('the order depends on the seed, and iterating twice gives it twice', () => {
  assert.deepEqual(ids(4, 5, { seed: 1 }), ids(4, 5, { seed: 1 }));
  assert.notDeepEqual(ids(4, 5, { seed: 1 }), ids(4, 5, { seed: 2 }));
  const loader = shuffledBatches(rows, { batchSize: 10 });
  const first = () => loader.batches()[Symbol.iterator]().next().value;
  assert.deepEqual(first(), first());
});
