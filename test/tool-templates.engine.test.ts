// Tool calls in every chat template that TRL carries: what is sampled in the template's syntax is read back from its ids, and what follows is what the template
// itself would write. The table of docs/models.md says which templates these are; GRADUS_WRITE_REPORT=1 writes it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { characterTokenizerJson } from '../demo/character-tokenizer.ts';
import { GradusError } from '../src/errors.ts';
import type { Message, ToolSpec } from '../src/message.ts';
import { chatRenderer } from '../src/renderers/chat-renderer.ts';
import { type ChatTemplate, createChatTemplate } from '../src/renderers/chat-template.ts';
import { type ToolUse, toolUse } from '../src/renderers/tool-use.ts';
import { createTokenizer } from '../src/tokenizers/tokenizer.ts';
import { type ToolSyntaxName, toolSyntaxes } from '../src/tools/syntaxes.ts';

const root = join(import.meta.dirname, '..');
const libraries = join(root, 'python/.venv/lib');
const [version] = existsSync(libraries) ? readdirSync(libraries) : [];
const folder = join(libraries, version ?? '', 'site-packages/trl/chat_templates');
const skip = !existsSync(folder) && 'python/.venv is not there: run `make test-engines`';
/** Of models with image input, whose templates take content in parts alone. */
const withImages = /^(idefics3|llava_next|smolvlm)/;
const names = skip ? [] : readdirSync(folder).filter((name) => name.endsWith('.jinja') && !withImages.test(name));

const tools: ToolSpec[] = [
  {
    name: 'add',
    description: 'Adds two numbers.',
    parameters: {
      type: 'object',
      properties: {
        a: { type: 'number' },
        words: { type: 'array' },
        text: { type: 'string' },
        flag: { type: 'boolean' },
      },
      required: ['a'],
    },
  },
];
const args = { a: 2.5, words: ['x', 1, { k: true }], text: '7 "of" <these>\nlines', flag: false };
const question: Message = { role: 'user', content: 'What is it?' };
const answer = (id: string): Message => ({ role: 'tool', content: 'ANSWER', toolCallId: id, name: 'add' });

const open = (name: string): ChatTemplate =>
  createChatTemplate(readFileSync(join(folder, name), 'utf8'), { bos_token: '<|bos|>', eos_token: '<|eos|>' });

function useOf(template: ChatTemplate): ToolUse | 'unknown' {
  try {
    return toolUse(template);
  } catch (error) {
    assert.ok(error instanceof GradusError && error.code === 'TOOL_SYNTAX_UNKNOWN');
    return 'unknown';
  }
}

const nameOf = ({ syntax }: ToolUse) =>
  (Object.keys(toolSyntaxes) as ToolSyntaxName[]).find((name) => toolSyntaxes[name] === syntax)!;

/** A tokenizer that has every character of some texts, and every mark between bars as a special token. */
function tokenizerOf(texts: readonly string[], markers: readonly string[]) {
  const all = [...texts, ...markers].join('');
  const marks = new Set([...markers, ...(all.match(/<[|｜][^<>\s]*?>|<[^<>\s|]*[|｜]>/g) ?? []), '<end-of-turn>']);
  const characters = [...new Set([...all, ...'<end-of-turn>'])].join('');
  return createTokenizer(characterTokenizerJson(characters, [...marks]), {});
}

for (const name of names)
  test(`${name}: calls are sampled, read, answered and sampled again`, () => {
    const template = open(name);
    const use = useOf(template);
    if (use === 'unknown') return;
    const { syntax, native } = use;
    const id = syntax.idOf?.('add', 1) ?? 'call00001';
    const written = syntax.render({ name: 'add', arguments: args });
    const messages = [question];
    const called: Message = { role: 'assistant', content: '', toolCalls: [{ id, name: 'add', arguments: args }] };
    const whole = native ? template.render([...messages, called, answer(id)], { tools }) : '';
    const offered = template.render(messages, native ? { tools } : {});
    const alphabet = `${' '.repeat(1)}\n!"'()*,-./:;=?_{}[]\\<>0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ`;
    const tokenizer = tokenizerOf([whole, offered, written, alphabet], syntax.markers);
    const end = tokenizer.idOf('<end-of-turn>')!;
    const renderer = chatRenderer(tokenizer, template, { stopIds: new Set([end]) });

    const first = renderer.render({ messages, tools }).ids;
    const conversation = [...messages];
    let prompt = first;
    for (let turn = 0; turn < 2; turn++) {
      const sampled = [...tokenizer.encode(written), end];
      const { message, parseErrors } = renderer.parse(sampled, tools, '');
      assert.equal(parseErrors, undefined);
      assert.deepEqual(
        message.toolCalls?.map(({ name, arguments: given }) => [name, given]),
        [['add', args]],
      );
      assert.equal(message.content, '');
      conversation.push(message, answer(message.toolCalls![0]!.id));
      const next = renderer.render({ messages: conversation, tools }).ids;
      assert.deepEqual(next.slice(0, prompt.length + sampled.length), [...prompt, ...sampled]);
      const rest = tokenizer.decode(next.slice(prompt.length + sampled.length));
      assert.ok(rest.includes('ANSWER'), `the model sees the answer: ${rest}`);
      assert.ok(!rest.includes('"of"'), `and its call only once: ${rest}`);
      prompt = next;
    }
    if (!native || use.callsAsContent) return;
    // What follows the sampled call is what the template itself writes behind a call of data.
    const copy = conversation.slice(0, 3).map((message) => ({ ...message }));
    const text = template.render(copy, {
      tools,
      addGenerationPrompt: true,
      argumentsAsText: use.argumentsAsText ?? false,
    });
    const second = renderer.render({ messages: conversation.slice(0, 3), tools }).ids;
    const sampledEnd = first.length + tokenizer.encode(written).length + 1;
    assert.ok(text.endsWith(tokenizer.decode(second.slice(sampledEnd))), text);
  });

const thought = 'A thought.';

/** Which of the thoughts of earlier turns a template shows. */
function keptThoughts(template: ChatTemplate): string {
  const turns: Message[] = [question, { role: 'assistant', content: 'Yes.', reasoningContent: thought }];
  const shows = (messages: readonly Message[]) => {
    try {
      return template.render(messages).includes(thought);
    } catch (error) {
      if (error instanceof GradusError) return false;
      throw error;
    }
  };
  if (shows([...turns, question])) return 'all';
  return shows(turns) ? 'those of the last turn' : 'none';
}

function rowOf(name: string): string {
  const template = open(name);
  const use = useOf(template);
  const kept = keptThoughts(template);
  const base = name.replace('.jinja', '');
  if (use === 'unknown') return `| \`${base}\` | unknown | – | ${kept} |`;
  const how = use.native
    ? use.callsAsContent
      ? 'calls of data as content'
      : 'by the template'
    : 'in the system message';
  return `| \`${base}\` | \`${nameOf(use)}\` | ${how} | ${kept} |`;
}

test('docs/models.md has a row for every template', { skip }, () => {
  const path = join(root, 'docs/models.md');
  const rows = names.filter((name) => !name.includes('_training')).map(rowOf);
  const table = ['| template | syntax of calls | tools | thoughts kept |', '|---|---|---|---|', ...rows].join('\n');
  const text = readFileSync(path, 'utf8');
  const current = text.replace(/(<!-- templates -->\n)[\s\S]*?(\n<!-- end of templates -->)/, (_, before, after) => {
    return before + table + after;
  });
  if (process.env.GRADUS_WRITE_REPORT) writeFileSync(path, current);
  assert.ok(current.includes('`qwen3_coder`'));
  assert.equal(readFileSync(path, 'utf8'), current, 'docs/models.md is not current');
});
