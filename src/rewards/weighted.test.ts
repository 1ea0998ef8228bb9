// Weighted sums, and everything that a reward function can do wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GradusError } from '../errors.ts';
import type { RewardFunction, RewardInput } from '../rewards.ts';
import type { StopReason, Trajectory } from '../rl.ts';
import { weightedRewards } from './weighted.ts';

const example = { question: 'What is 1 + 1?', answer: '2', nested: { list: [1, 2] } };

function trajectory(completion: string, stopReason: StopReason = 'completed'): Trajectory {
  const state = { messages: [{ role: 'user', content: example.question } as const] };
  const action = { message: { role: 'assistant', content: completion } as const };
  const tokens = {
    promptIds: [1],
    completionIds: [...completion].map((_, i) => i),
    logprobs: [...completion].map(() => -1),
  };
  return { steps: [{ state, action, tokens }], stopReason };
}

const two = [trajectory('2'), trajectory('three')];

/** What a group of two makes of one function. */
async function scoreWith(score: unknown, timeLimit = 1000) {
  const model = weightedRewards([{ name: 'mine', score: score as RewardFunction }], { timeLimit });
  return model.score(example, two);
}

test('a function sees the prompts, completions, ids and columns of its group', async () => {
  let seen: RewardInput | undefined;
  await scoreWith((input: RewardInput) => {
    seen = input;
    return [0, 0];
  });
  assert.deepEqual(seen?.completions, ['2', 'three']);
  assert.deepEqual(seen?.completionIds, [[0], [0, 1, 2, 3, 4]]);
  assert.deepEqual(seen?.prompts[1], [{ role: 'user', content: example.question }]);
  assert.deepEqual(seen?.columns, {
    question: [example.question, example.question],
    answer: ['2', '2'],
    nested: [{ list: [1, 2] }, { list: [1, 2] }],
  });
});

test('the score is the weighted sum of the parts that apply', async () => {
  const model = weightedRewards([
    { name: 'a', score: () => [1, null] },
    { name: 'b', weight: 0.5, score: async () => [1, 3] },
    { name: 'c', weight: -2, score: () => [null, 1] },
  ]);
  assert.deepEqual(await model.score(example, two), [
    { score: 1.5, parts: { a: 1, b: 1, c: null } },
    { score: -0.5, parts: { a: null, b: 3, c: 1 } },
  ]);
});

test('a trajectory to which no part applies has no score, and none was measured as 0', async () => {
  assert.deepEqual(await scoreWith(() => [null, 0]), [
    { score: null, parts: { mine: null } },
    { score: 0, parts: { mine: 0 } },
  ]);
});

const hostile: readonly [string, unknown, RegExp][] = [
  [
    'throws',
    () => {
      throw new Error('boom');
    },
    /^boom$/,
  ],
  [
    'throws no error',
    () => {
      throw 'a string';
    },
    /^a string$/,
  ],
  [
    'rejects',
    async () => {
      throw new Error('later');
    },
    /^later$/,
  ],
  ['never resolves', () => new Promise(() => {}), /longer than 0.02 s/],
  ['answers after its time', () => new Promise((done) => setTimeout(done, 60, [1, 1])), /longer than 0.02 s/],
  ['returns NaN', () => [1, Number.NaN], /completion 2 is NaN/],
  ['returns an infinite score', () => [Number.NEGATIVE_INFINITY, 1], /completion 1 is -Infinity/],
  ['returns text for a score', () => ['1', 1], /completion 1 is a string/],
  ['returns true for a score', () => [true, 1], /completion 1 is a boolean/],
  ['returns undefined for a score', () => [1, undefined], /completion 2 is undefined/],
  ['returns a sparse array', () => new Array(2), /completion 1 is undefined/],
  ['returns too few', () => [1], /1 scores for 2 completions/],
  ['returns too many', () => [1, 1, 1], /3 scores for 2 completions/],
  ['returns text', () => '11', /returned a string, not an array/],
  ['returns a number', () => 1, /returned a number, not an array/],
  ['returns nothing', () => {}, /returned undefined, not an array/],
  ['returns null', () => null, /returned null, not an array/],
  ['returns something like an array', () => ({ length: 2, 0: 1, 1: 1 }), /returned an object, not an array/],
  ['changes completions', ({ completions }: { completions: string[] }) => completions.reverse(), /read only/],
  ['changes ids', (input: { completionIds: number[][] }) => input.completionIds[0]!.push(1), /not extensible/],
  [
    'changes a message',
    (input: { prompts: { content: string }[][] }) => {
      input.prompts[0]![0]!.content = '';
    },
    /read only/,
  ],
  [
    'changes a nested column',
    (input: { columns: { nested: { list: number[] }[] } }) => input.columns.nested[0]!.list.pop(),
    /delete/,
  ],
  [
    'adds a column',
    (input: { columns: Record<string, unknown> }) => {
      input.columns.more = [];
    },
    /not extensible/,
  ],
  [
    'replaces its input',
    (input: { completions: string[] }) => {
      input.completions = [];
    },
    /read only/,
  ],
  [
    'logs NaN',
    ({ log }: RewardInput) => {
      log('x', Number.NaN);
      return [1, 1];
    },
    /log\("x", NaN\)/,
  ],
];

for (const [what, score, message] of hostile) {
  test(`a function that ${what} is an error on each trajectory and never a score`, async () => {
    for (const reward of await scoreWith(score, 20)) {
      assert.equal(reward.score, null);
      assert.deepEqual(reward.parts, { mine: null });
      assert.match(reward.errors!.mine!, message);
    }
  });
}

test('one failing function leaves the other parts standing, but no score', async () => {
  const model = weightedRewards([
    { name: 'good', score: () => [1, 0] },
    {
      name: 'bad',
      score: () => {
        throw new Error('boom');
      },
    },
  ]);
  assert.deepEqual(await model.score(example, two), [
    { score: null, parts: { good: 1, bad: null }, errors: { bad: 'boom' } },
    { score: null, parts: { good: 0, bad: null }, errors: { bad: 'boom' } },
  ]);
});

test('functions cannot change what later ones, or the loop, see', async () => {
  const before = structuredClone({ example, two });
  let seen: readonly string[] = [];
  const model = weightedRewards([
    {
      name: 'vandal',
      score: (input) => {
        (input.completions as string[])[0] = 'x';
        return [1, 1];
      },
    },
    {
      name: 'witness',
      score: ({ completions }) => {
        seen = completions;
        return [1, 1];
      },
    },
  ]);
  await model.score(example, two);
  assert.deepEqual(seen, ['2', 'three']);
  assert.deepEqual({ example, two }, before);
  assert.ok(!Object.isFrozen(two[0]!.steps) && !Object.isFrozen(example.nested.list));
});

test('trajectories that failed or were cancelled are not shown to rewards and have no score', async () => {
  let calls = 0;
  const model = weightedRewards([
    {
      name: 'length',
      score: ({ completions }) => {
        calls++;
        return completions.map(({ length }) => length);
      },
    },
  ]);
  const unscored = { score: null, parts: { length: null } };
  const overflow: Trajectory = { steps: [], stopReason: 'context_overflow' };
  const failed = trajectory('ab', 'error');
  const cancelled = trajectory('ab', 'cancelled');
  const cut = trajectory('abc', 'max_tokens');
  assert.deepEqual(await model.score(example, [failed, cut, overflow, trajectory('a'), cancelled]), [
    unscored,
    { score: 3, parts: { length: 3 } },
    unscored,
    { score: 1, parts: { length: 1 } },
    unscored,
  ]);
  assert.equal(calls, 1);
  assert.deepEqual(await model.score(example, [failed, cancelled]), [unscored, unscored]);
  assert.equal(calls, 1);
});

test('what functions log is averaged and kept, unless the function fails', async () => {
  const model = weightedRewards([
    {
      name: 'a',
      score: ({ completions, log }) =>
        completions.map(({ length }) => {
          log('length', length);
          return 1;
        }),
    },
    {
      name: 'b',
      score: ({ log }) => {
        log('lost', 1);
        throw new Error('boom');
      },
    },
  ]);
  const rewards = await model.score(example, two);
  assert.deepEqual(
    rewards.map(({ metrics }) => metrics),
    [{ length: 3 }, { length: 3 }],
  );
});

test('two rewards of one name are refused', () => {
  const score = () => [1];
  assert.throws(
    () =>
      weightedRewards([
        { name: 'a', score },
        { name: 'b', score },
        { name: 'a', score },
      ]),
    (error) => error instanceof GradusError && error.code === 'REWARD_NAME_TAKEN' && /"a"/.test(error.message),
  );
});
