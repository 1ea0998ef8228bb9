// Chat templates of some thirty families of models, as TRL has them, against transformers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { oraclePython } from '../../test/trl-python.ts';
import type { Message, ToolSpec } from '../message.ts';
import { createChatTemplate } from './chat-template.ts';

const oracle = join(import.meta.dirname, '..', '..', 'python', 'oracles', 'render_templates.py');

const tools: ToolSpec[] = [
  {
    name: 'get_weather',
    description: 'Weather, "now" & <later>\nin é',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'The city' },
        unit: { type: ['string', 'null'], enum: ['C', 'F', null], default: null },
        deep: { type: 'object', properties: { on: { type: 'array', items: { type: 'boolean' } } } },
      },
      required: ['city'],
    },
  },
  { name: 'now', description: '', parameters: { type: 'object', properties: {} } },
];

const system: Message = { role: 'system', content: 'You  help. \n' };
const asks = (content: string): Message => ({ role: 'user', content });
const says = (content: string): Message => ({ role: 'assistant', content });
const calls = (content: string, name: string, given: object, id = 'call00001'): Message => ({
  role: 'assistant',
  content,
  toolCalls: [{ id, name, arguments: { ...given } }],
});
const result = (content: string, toolCallId = 'call00001'): Message => ({ role: 'tool', content, toolCallId });

const given = { city: 'Pa"ris\' é', unit: null, deep: { on: [true, false] }, yes: true, count: 2 };
const conversations: Message[][] = [
  [asks('2+2? <b> \'q\' "d" 你好 🙂\n')],
  [system, asks('a'), says('  padded \n'), asks('  b ')],
  [asks('a'), says('<think>\nhm 1 < 2\n</think>\n\n  4'), asks('b')],
  [system, asks('a'), calls('', 'get_weather', given), result('{"t": 2}'), says('<think>x</think>It is.'), asks('b')],
  [asks('a'), calls('<think>\ny\n</think>\n\nLet me.', 'now', {}), result(''), asks('c')],
];

/** For images, of which it reads none in a text: a message without any is not a text there, but a list. */
const ofImages = /^(idefics3|llava_next|smolvlm)/;

test('TRL’s chat templates', { timeout: 300_000 }, () => {
  const asked = conversations.flatMap((messages) =>
    [undefined, tools].flatMap((offered) => [true, false].map((begins) => ({ messages, offered, begins }))),
  );
  const input = asked.map(({ messages, offered, begins }) => ({
    messages: messages.map(({ role, content, toolCalls, toolCallId }) => ({
      role,
      content,
      ...(toolCalls && {
        tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
          ...{ id, type: 'function', function: { name, arguments: given } },
        })),
      }),
      ...(toolCallId && { tool_call_id: toolCallId }),
    })),
    tools: offered?.map((each) => ({ type: 'function', function: each })) ?? null,
    add_generation_prompt: begins,
  }));
  const answer = execFileSync(oraclePython, [oracle], { input: JSON.stringify(input), maxBuffer: 2 ** 28 });
  const families = Object.entries(
    JSON.parse(String(answer)) as Record<string, { template: string; texts: (string | null)[] }>,
  ).filter(([name]) => !ofImages.test(name));
  assert.ok(families.length >= 60);
  let compared = 0;
  for (const [name, { template: source, texts }] of families) {
    const template = createChatTemplate(source, { bos_token: '<BOS>', eos_token: '<EOS>' });
    for (const [i, { messages, offered, begins }] of asked.entries()) {
      if (texts[i] === null) continue;
      const text = template.render(messages, { addGenerationPrompt: begins, ...(offered && { tools: offered }) });
      assert.equal(text, texts[i], `${name}: ${JSON.stringify(input[i])}`);
      compared++;
    }
  }
  assert.ok(compared > families.length * asked.length * 0.8);
});
