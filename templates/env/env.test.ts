// How the game goes, and what it pays. Run: npm test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Step, Trajectory } from 'gradus';
import { guessingGame, type Problem, reward } from './env.ts';

const problem: Problem = { low: 1, high: 9, secret: 6 };

/** Plays an episode with these replies of the model. */
async function play(...replies: string[]): Promise<Trajectory> {
  const env = await guessingGame.build(problem);
  let state = await env.start();
  const steps: Step[] = [];
  for (const content of replies) {
    const action = { message: { role: 'assistant', content } as const };
    steps.push({ state, action, tokens: { promptIds: [], completionIds: [], logprobs: [] } });
    const next = await env.step(action);
    if (next === null) return { steps, stopReason: 'completed' };
    state = next;
  }
  return { steps, stopReason: 'max_turns' };
}

async function scoreOf(...replies: string[]): Promise<number> {
  const [verdict] = await reward.score(problem, [await play(...replies)]);
  return verdict!.score!;
}

test('it says which way to go, and ends when the number is found', async () => {
  const { steps, stopReason } = await play('3', 'Is it 8?', '6');
  assert.equal(stopReason, 'completed');
  assert.deepEqual(
    steps.map(({ state }) => state.messages.at(-1)!.content),
    ['Guess a number from 1 to 9.', 'Higher.', 'Lower.'],
  );
});

test('sooner is better, found is better than not, guessing better than not', async () => {
  const scores = [
    await scoreOf('6'),
    await scoreOf('3', '6'),
    await scoreOf('3', '8', '5', '6'),
    await scoreOf('3', '8', '5', '7'),
    await scoreOf('three', 'four', '5', '7'),
    await scoreOf('hm', 'hm', 'hm', 'hm'),
  ];
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  assert.equal(new Set(scores).size, scores.length);
});

test('listing all numbers is no guess', async () => {
  assert.equal(await scoreOf('1 2 3 4 5 6 7 8 9'), 0);
});
