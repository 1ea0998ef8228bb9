// Tests of the reward. Run: npm test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { score } from './reward.ts';

const scoreOf = (completion: string, answer: string) =>
  score({
    prompts: [[]],
    completionIds: [[]],
    log: () => {},
    completions: [completion],
    columns: { answer: [answer] },
  })[0];

test('the right number pays 1, however it is worded', () => {
  for (const completion of ['7', '3 + 4 = 7', 'It is 7.', '7.0']) assert.equal(scoreOf(completion, '7'), 1, completion);
});

test('a wrong number pays a little, no number pays nothing', () => {
  assert.equal(scoreOf('8', '7'), 0.1);
  assert.equal(scoreOf('seven', '7'), 0);
  assert.equal(scoreOf('', '7'), 0);
});

test('listing numbers until one is right does not pay', () => {
  assert.equal(scoreOf('5 6 7 8 9', '7'), 0.1);
});
