// Configurations as text: the numbers of a schema stay as they are written, and paths of Windows are read or explained.
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

test('a Windows path is read unchanged, and an accidental escape in double quotes is explained', () => {
  const model = 'C:\\models\\qwen';
  for (const written of [model, `'${model}'`, JSON.stringify(model)]) {
    assert.deepEqual(parseConfigText(`model: ${written}\r\nseed: 1\r\n`, 'x.yaml').value, { model, seed: 1 });
  }
  assert.throws(() => parseConfigText(`seed: 1\nmodel: "${model}"\n`, 'x.yaml'), {
    code: 'CONFIG_SYNTAX',
    message: /^x\.yaml:2: .*\\m/,
    hint: /^in double quotes each backslash must be doubled/,
  });
});
