// Tests of the format reward. Run: npm test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { score } from './reward.ts';

const scoreOf = (completion: string) =>
  score({ prompts: [[]], completions: [completion], completionIds: [[]], columns: {}, log: () => {} })[0];

test('one number after ####, at the end', () => {
  assert.equal(scoreOf('3 * 4 = 12.\n#### 12'), 0.2);
  assert.equal(scoreOf('It is less than nothing.\n#### -1,200\n'), 0.2);
});

test('anything else pays nothing', () => {
  for (const completion of [
    '',
    '12',
    '#### 12',
    '3 * 4\n#### twelve',
    'Mine:\n#### 12\nor\n#### 13',
    '\n#### 12 apples',
  ]) {
    assert.equal(scoreOf(completion), 0, completion);
  }
});
