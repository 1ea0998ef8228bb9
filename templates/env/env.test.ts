// Tests of the game and of its scores. Run: npm test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EpisodeScore, State } from 'gradus';
import { guessingGame, type Problem } from './env.ts';

const problem: Problem = { low: 1, high: 9, secret: 6 };

/** Plays an episode with these replies of the model. */
async function play(...replies: string[]): Promise<{ said: string[]; completed: boolean; scores: EpisodeScore }> {
  const env = await guessingGame.create({}).build(problem);
  const said = [lastOf(await env.start())];
  let completed = false;
  for (const content of replies) {
    const next = await env.step({ message: { role: 'assistant', content } });
    completed = next === null;
    if (next !== null) said.push(lastOf(next as State));
  }
  return { said, completed, scores: await env.score!() };
}

function lastOf({ messages }: State): string {
  return messages.at(-1)!.content;
}

test('it says which way to go, and ends when the number is found', async () => {
  const { said, completed } = await play('3', 'Is it 8?', '6');
  assert.deepEqual(said, ['Guess a number from 1 to 9.', 'Higher.', 'Lower.']);
  assert.ok(completed);
});

test('sooner is better than later, found better than not, guessing better than not', async () => {
  assert.deepEqual((await play('6')).scores, { found: 1, speed: 1, played: 1 });
  assert.deepEqual((await play('3', '6')).scores, { found: 1, speed: 0.5, played: 1 });
  assert.deepEqual((await play('3', '7')).scores, { found: 0, speed: 0, played: 1 });
  assert.deepEqual((await play('three', '7')).scores, { found: 0, speed: 0, played: 0.5 });
});

test('listing all numbers is not a guess', async () => {
  assert.deepEqual((await play('1 2 3 4 5 6 7 8 9')).scores, { found: 0, speed: 0, played: 0 });
});

test('held-out problems are never trained on', async () => {
  const { train, eval: heldOut } = await guessingGame.create({}).buildDataset!({ seed: 0 });
  const trained = new Set(train.map(({ secret }) => secret));
  assert.ok(heldOut!.every(({ secret }) => !trained.has(secret)));
});
