// Tool calls of Gemma 4: <|tool_call>call:name{key:<|"|>text<|"|>,other:1}<tool_call|>. Strings have their own marks, and keys have no quotes.
import type { CallParts } from '../rendering.ts';
import { type ReadArguments, readArguments, writableArguments } from './call-arguments.ts';
import { mayBeginWith, unended } from './tagged-calls.ts';
import { type NamedArguments, spacedJson, type ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE, QUOTE] = ['<|tool_call>', '<tool_call|>', '<|"|>'];
const HEAD = /^\s*call:([^\s{]+)\s*/;

export const gemma4: ToolSyntax = {
  markers: [OPEN, CLOSE, QUOTE],
  lastCharacters: '>',
  find(text, ended) {
    const start = text.indexOf(OPEN);
    if (start < 0) return undefined;
    const bodyStart = start + OPEN.length;
    const close = endOf(text, bodyStart);
    if (close >= 0) return { start, end: close + CLOSE.length, call: readCall(text.slice(bodyStart, close)) };
    return ended ? { start, end: text.length, call: unended(CLOSE) } : undefined;
  },
  mayBegin: (text) => mayBeginWith(text, OPEN),
  render: (call) => `${OPEN}call:${call.name}${written(writableArguments(call))}${CLOSE}`,
  parts: (name): CallParts => ({
    before: `${OPEN}call:${name}{`,
    between: ',',
    after: `}${CLOSE}`,
    argument: (key) => [`${key}:`, ''],
    text: { open: QUOTE, close: QUOTE, without: [QUOTE], isEverywhere: true },
  }),
};

/** The index of the closing mark outside strings; below 0 if there is none. */
function endOf(text: string, from: number): number {
  for (let at = from; ; ) {
    const close = text.indexOf(CLOSE, at);
    const quote = text.indexOf(QUOTE, at);
    if (close < 0 || quote < 0 || close < quote) return close;
    const end = text.indexOf(QUOTE, quote + QUOTE.length);
    if (end < 0) return -1;
    at = end + QUOTE.length;
  }
}

function readCall(body: string): NamedArguments | string {
  const head = HEAD.exec(body);
  if (!head) return 'the call is not call:name{…}';
  const json = jsonOf(body.slice(head[0].length));
  try {
    const args: ReadArguments | undefined = readArguments(json);
    return args ? { name: head[1]!, ...args } : `the arguments of ${head[1]} are not an object`;
  } catch {
    return `the arguments of ${head[1]} cannot be read`;
  }
}

/** The notation converted to JSON, if it is valid. */
function jsonOf(text: string): string {
  const parts = text.split(QUOTE);
  const outside = (part: string) =>
    part
      .replaceAll(/\bNone\b/g, 'null')
      .replaceAll(
        /([{,]\s*)([^\s{}[\],:"][^{}[\],:"]*?)\s*:/g,
        (_, before: string, key: string) => `${before}${JSON.stringify(key)}:`,
      );
  return parts.map((part, i) => (i % 2 === 0 ? outside(part) : JSON.stringify(part))).join('');
}

/** A value in the notation; keys are sorted, as templates do. */
function written(value: unknown): string {
  if (typeof value === 'string') return QUOTE + value + QUOTE;
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  const json = spacedJson(value);
  if (value === null || typeof value !== 'object' || !json.startsWith('{')) return json;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${key}:${written(item)}`).join(',')}}`;
}
