// Packing sequences into micro-batches: random batches and limits, and what must hold of every split.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomStream, shuffled } from '../../../common/random.ts';
import type { TrainingSequence } from '../../../training-model.ts';
import { microBatches } from './micro-batches.ts';

function sequence(promptIds: readonly number[], length: number): TrainingSequence {
  const completionIds = new Array<number>(length).fill(7);
  return { promptIds, completionIds, mask: completionIds.map(() => true), advantage: 0 };
}

/** Groups of completions of a few prompts, in random order. */
function randomBatch(seed: number): TrainingSequence[] {
  const random = randomStream(seed);
  const prompts = Array.from({ length: 1 + random.integer(5) }, (_, id) => new Array(1 + random.integer(9)).fill(id));
  const rows = prompts.flatMap((prompt) =>
    Array.from({ length: 1 + random.integer(7) }, () => sequence(prompt, 1 + random.integer(12))),
  );
  return shuffled(rows, seed);
}

test('every sequence is in one place beside its own prompt, and limits are kept where one sequence alone keeps them', () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = randomStream(1000 + seed);
    const batch = randomBatch(seed);
    const limits = { activationRows: 1 + random.integer(200), completionTokens: 1 + random.integer(100) };
    const layout = seed % 2 === 0 ? 'padded' : 'packed';
    const parts = microBatches(batch, limits, layout);
    const placed = parts.flatMap(({ slots }) => slots.filter((row) => row !== undefined));
    assert.deepEqual(
      placed.toSorted((a, b) => a - b),
      [...batch.keys()],
    );
    for (const { prompts, slots, sizes, rows } of parts) {
      const { U, P, G, C } = sizes;
      const members = slots.filter((row) => row !== undefined).map((row) => batch[row]!);
      assert.deepEqual([prompts.length, slots.length], [U, U * G]);
      assert.equal(P, Math.max(...prompts.map(({ length }) => length)));
      assert.equal(C, Math.max(...members.map(({ completionIds }) => completionIds.length)));
      for (const [place, row] of slots.entries()) {
        if (row !== undefined) assert.deepEqual(batch[row]!.promptIds, prompts[Math.floor(place / G)]);
      }
      const lengths = slots.map((row) => (row === undefined ? 0 : batch[row]!.completionIds.length));
      const widths =
        layout === 'padded'
          ? [...prompts.map(() => P), ...slots.map(() => C)]
          : [...prompts.map(({ length }) => length), ...lengths];
      const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
      const starts = widths.map((_, i) => total(widths.slice(0, i)));
      assert.deepEqual([...rows.promptStarts, ...rows.completionStarts, rows.count], [...starts, total(widths)]);
      const fits = total(widths) <= limits.activationRows && total(widths.slice(U)) <= limits.completionTokens;
      assert.ok(fits || members.length === 1, `seed ${seed}: ${members.length} sequences in ${JSON.stringify(sizes)}`);
    }
  }
});

test('equal prompts share a place, wherever they stand in the batch', () => {
  const [a, b] = [
    [1, 2],
    [1, 2, 3],
  ];
  const batch = [sequence(a, 2), sequence(b, 4), sequence(a, 3), sequence([1, 2], 1)];
  assert.deepEqual(microBatches(batch, { activationRows: 1000, completionTokens: 1000 }, 'padded'), [
    {
      prompts: [a, b],
      slots: [0, 2, 3, 1, undefined, undefined],
      sizes: { U: 2, P: 3, G: 3, C: 4 },
      rows: { promptStarts: [0, 3], completionStarts: [6, 10, 14, 18, 22, 26], count: 30 },
      teaches: true,
    },
  ]);
});

test('a group too large is split evenly', () => {
  const batch = Array.from({ length: 6 }, () => sequence([1, 2, 3], 4));
  const sizes = microBatches(batch, { activationRows: 1000, completionTokens: 19 }, 'padded').map(
    ({ slots }) => slots.length,
  );
  assert.deepEqual(sizes, [3, 3]);
});

test('prompts none of whose completions teaches are kept apart, and come last', () => {
  const silent = sequence([1, 2], 3);
  const batch = [silent, { ...sequence([4, 5], 3), advantage: 1 }, silent, sequence([4, 5], 2)];
  const parts = microBatches(
    batch,
    { activationRows: 1000, completionTokens: 1000 },
    'padded',
    ({ advantage }) => advantage !== 0,
  );
  assert.deepEqual(
    parts.map(({ slots, teaches }) => ({ slots, teaches })),
    [
      { slots: [1, 3], teaches: true },
      { slots: [0, 2], teaches: false },
    ],
  );
});

test('no sequences make no micro-batch', () => {
  assert.deepEqual(microBatches([], { activationRows: 1, completionTokens: 1 }, 'padded'), []);
});
