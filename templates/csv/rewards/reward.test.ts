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

test('the number alone pays 1', () => {
  for (const completion of ['3000', ' 3000\n', '3,000']) assert.equal(scoreOf(completion, '3000'), 1, completion);
});

test('the number among words pays half, if it comes last', () => {
  assert.equal(scoreOf('3 kilometres are 3000 metres', '3000'), 0.5);
  assert.equal(scoreOf('3000, or was it 300?', '3000'), 0);
});

test('other numbers, and parts of the right one, pay nothing', () => {
  for (const completion of ['', 'many', '300', '30000', '3 000'])
    assert.equal(scoreOf(completion, '3000'), 0, completion);
});
