// Tool calls of MiniCPM 5: <function name="…"><param name="key">value</param>…</function>; texts with marks or several lines are in <![CDATA[…]]>.
import type { CallParts } from '../rendering.ts';
import { writableArguments } from './call-arguments.ts';
import { mayBeginWith, unended } from './tagged-calls.ts';
import { callFromTexts } from './text-arguments.ts';
import { textCursor } from './text-cursor.ts';
import { joinedParts, spacedJson, type ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE] = ['<function name="', '</function>'];
const [OPEN_TEXT, CLOSE_TEXT] = ['<![CDATA[', ']]>'];
const NAME = /([^"<>]+)">/y;
const KEY = /\s*<param name="([^"<>]*)">(<!\[CDATA\[)?/y;
const VALUE_END = /<\/param>(?=\s*(?:<param |<\/function>))/g;
const TEXT_END = /\]\]><\/param>(?=\s*(?:<param |<\/function>))/g;
const TAIL = /\s*<\/function>/y;

export const miniCpm5: ToolSyntax = {
  markers: [],
  lastCharacters: '>',
  find(text, ended, tools) {
    const start = text.indexOf(OPEN);
    if (start < 0) return undefined;
    const entries: [string, string][] = [];
    const cursor = textCursor(text, start + OPEN.length);
    const open = ended ? { start, end: text.length, call: unended(CLOSE) } : undefined;
    const name = cursor.next(NAME)?.[1];
    if (name !== undefined) {
      for (let key = cursor.next(KEY); key; key = cursor.next(KEY)) {
        const value = cursor.until(key[2] === undefined ? VALUE_END : TEXT_END);
        if (value === undefined) return open;
        entries.push([key[1]!, value]);
      }
      if (cursor.next(TAIL)) return { start, end: cursor.at, call: callFromTexts(name, entries, tools) };
    }
    const close = text.indexOf(CLOSE, cursor.at);
    if (close < 0) return open;
    return { start, end: close + CLOSE.length, call: 'the call is not a name with <param name="key"> and their ends' };
  },
  mayBegin: (text) => mayBeginWith(text, OPEN),
  render(call) {
    const given = Object.entries(writableArguments(call) as Record<string, unknown>);
    return joinedParts(
      partsOf(call.name),
      given.map(([key, value]) => [key, written(value)]),
    );
  },
  parts: partsOf,
};

function written(value: unknown): string {
  const text = typeof value === 'string' ? value : spacedJson(value);
  return /[<&\n]/.test(text) ? OPEN_TEXT + text + CLOSE_TEXT : text;
}

function partsOf(name: string): CallParts {
  return {
    before: `${OPEN}${name}">`,
    between: '',
    after: CLOSE,
    argument: (key) => [`<param name="${key}">`, '</param>'],
    text: { open: OPEN_TEXT, close: CLOSE_TEXT, without: [CLOSE_TEXT] },
  };
}
