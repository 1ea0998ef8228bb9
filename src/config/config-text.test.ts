// Configurations as text: the numbers of a schema stay as they are written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfigText } from './config-text.ts';

const settingsOf = (schema: string) => {
  const text = `seed: 12\nreward:\n  - name: json_schema\n    config:\n      parsed_score: 0.5\n      schema: ${schema}\n`;
  const { seed, reward } = parseConfigText(text, 'x.yaml').value as { seed: number; reward: { config: object }[] };
  assert.equal(seed, 12);
  return reward[0]!.config;
};

test('a schema with whole numbers that would be rounded becomes JSON text, others stay objects', () => {
  assert.deepEqual(settingsOf('{const: 12345678901234567890, minimum: 0.5, title: "a\\"b", maximum: 3}'), {
    parsed_score: 0.5,
    schema: '{"const":12345678901234567890,"minimum":0.5,"title":"a\\"b","maximum":3}',
  });
  const plain = { const: 1234567890123456, enum: ['12345678901234567890', null] };
  assert.deepEqual(settingsOf(JSON.stringify(plain)), { parsed_score: 0.5, schema: plain });
});
