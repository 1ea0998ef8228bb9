// Rewards of form: thinking, JSON, sections; and the parsers behind them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RewardFunction } from '../rewards.ts';
import { builtinRewards } from './builtin.ts';
import { jsonSchema } from './json-schema.ts';
import { splitThinking, xmlContent } from './sections.ts';
import { style } from './style.ts';
import { thinkFormat } from './think-format.ts';
import { xmlFormat } from './xml-format.ts';

async function score(reward: RewardFunction, completion: string, opening?: string) {
  const [result] = await reward({
    prompts: [],
    completions: [completion],
    ...(opening !== undefined && { openings: [opening] }),
    completionIds: [],
    columns: {},
    log: () => {},
  });
  return result!;
}

test('xmlContent takes the last section of a name', () => {
  for (const [text, expected] of [
    ['<a>1</a>', '1'],
    ['<a>1</a> <a>\n2\n</a> 3', '2'],
    ['<a>1<a>2</a>', '2'],
    ['<a></a>', ''],
    ['<a>1', undefined],
    ['1</a>', undefined],
    ['</a><a>', undefined],
    ['<b>1</b>', undefined],
  ] as const) {
    assert.equal(xmlContent(text, 'a'), expected, text);
  }
});

test('splitThinking wants one section, first', () => {
  assert.deepEqual(splitThinking('<think>\na\n</think>\nb'), { thinking: 'a', answer: 'b' });
  assert.deepEqual(splitThinking('a</think>b', true), { thinking: 'a', answer: 'b' });
  for (const text of [
    'a',
    'b <think>a</think>',
    '<think>a',
    '<think>a</think><think>b</think>',
    '<think><think>a</think>',
  ])
    assert.equal(splitThinking(text), undefined, text);
});

test('think_format wants thinking and an answer', async () => {
  for (const [completion, expected] of [
    ['<think>a</think>b', 1],
    ['\n<think>\na\n</think>\n\nb', 1],
    ['<think></think>b', 0],
    ['<think>a</think> ', 0],
    ['<think>a</think>b</think>', 0],
    ['b', 0],
  ] as const) {
    assert.equal(await score(thinkFormat(), completion), expected, completion);
  }
  assert.equal(await score(thinkFormat({ is_opened_by_prompt: true }), 'a</think>b'), 1);
  assert.equal(await score(thinkFormat({ is_opened_by_prompt: true }), '<think>a</think>b'), 0);
});

test('think_format and xml_format count what the prompt has opened as written', async () => {
  const sections = xmlFormat({ tags: ['think', 'answer'], mode: 'strict' });
  for (const opening of ['<think>', '<think>\n', '<think>\nOkay, ']) {
    assert.equal(await score(thinkFormat(), 'a</think>b', opening), 1);
    assert.equal(await score(thinkFormat(), '<think>a</think>b', opening), 0);
    assert.equal(await score(thinkFormat(), 'ab', opening), 0);
    assert.equal(await score(thinkFormat({ is_opened_by_prompt: false }), 'a</think>b', opening), 0);
    assert.equal(await score(sections, 'a</think>\n<answer>b</answer>', opening), 1);
    assert.equal(await score(sections, '<think>a</think><answer>b</answer>', opening), 0);
  }
  for (const opening of ['', '<reasoning>\n', undefined]) {
    assert.equal(await score(thinkFormat(), 'a</think>b', opening), 0);
    assert.equal(await score(thinkFormat(), '<think>a</think>b', opening), 1);
    assert.equal(await score(sections, 'a</think>\n<answer>b</answer>', opening), 0);
  }
  for (const mode of ['soft', 'incremental'] as const)
    assert.equal(await score(xmlFormat({ mode }), 'a</reasoning><answer>b</answer>', '<reasoning>\n'), 1);
  assert.equal(await score(xmlFormat({ is_opened_by_prompt: true }), 'a</reasoning><answer>b</answer>'), 1);
});

test('json_schema checks types, required properties, enumerations, ranges, items and nothing besides', async () => {
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string', enum: ['Paris', 'Rome'] },
      nights: { type: 'integer', minimum: 1 },
      guests: { type: 'array', items: { type: 'string' }, minItems: 1 },
    },
    required: ['city', 'nights'],
    additionalProperties: false,
  };
  for (const [completion, expected] of [
    ['{"city": "Paris", "nights": 2}', 1],
    [' {"city": "Rome", "nights": 1, "guests": ["Ann"]}\n', 1],
    ['Here it is:\n```json\n{"city": "Paris", "nights": 2}\n```\nEnjoy.', 1],
    ['{"city": "Oslo", "nights": 2}', 0.25],
    ['{"city": "Paris"}', 0.25],
    ['{"city": "Paris", "nights": 0}', 0.25],
    ['{"city": "Paris", "nights": 1.5}', 0.25],
    ['{"city": "Paris", "nights": "2"}', 0.25],
    ['{"city": "Paris", "nights": 2, "guests": []}', 0.25],
    ['{"city": "Paris", "nights": 2, "pets": 1}', 0.25],
    ['null', 0.25],
    ['{"city": "Paris", "nights": 2', 0],
    ['Sure! {"city": "Paris", "nights": 2}', 0],
    ['', 0],
  ] as const) {
    assert.equal(await score(jsonSchema({ schema, parsed_score: 0.25 }), completion), expected, completion);
  }
  assert.equal(await score(jsonSchema({ schema }), 'null'), 0);
  assert.throws(() => builtinRewards.json_schema!.create({ schema: { type: 'nonsense' } }), /schema/);
});

test('style weighs wanted patterns against unwanted ones', async () => {
  const reward = style({ wanted: ['^dear', 'regards'], unwanted: ['as an AI', '!!'] });
  assert.equal(await score(reward, 'Dear Ann, … Regards'), 1);
  assert.equal(await score(reward, 'Dear Ann, as an ai …'), 0);
  assert.equal(await score(reward, 'As an AI I cannot!!'), -1);
  assert.equal(await score(style({ unwanted: ['sorry'] }), 'fine'), 0);
  assert.equal(await score(style({ wanted: ['Yes'], ignore_case: false }), 'yes'), 0);
  assert.throws(() => builtinRewards.style!.create({}), /wanted or unwanted/);
});
