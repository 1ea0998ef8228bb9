// Tool calls of Qwen3-Coder, Qwen3.5 and Nemotron 3: <tool_call><function=name><parameter=key>value</parameter>…</function></tool_call>, on lines of their own.
// Those of Seed-OSS have other outer tags, and values directly between theirs.
import { otherThinkingTags } from '../common/opening.ts';
import type { CallParts } from '../rendering.ts';
import { mayBeginTagged, unended } from './tagged-calls.ts';
import { type TaggedTexts, textsSyntax } from './tagged-texts.ts';
import { callFromTexts, callInTexts } from './text-arguments.ts';
import { textCursor } from './text-cursor.ts';
import type { FoundCall, ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE] = ['<tool_call>', '</tool_call>'];
const HEAD = /\s*<function=([^>\n]+)>/y;
const KEY = /\s*<parameter=([^>\n]*)>\n?/y;
/** The end of a value, before the next parameter or the end of the call; the tag that closes it may be missing. */
const VALUE_END =
  /\n?<\/parameter>(?=\s*(?:<parameter=|<\/function>|<\/tool_call>))|\n(?=<parameter=[^>\n]*>\n|<\/function>\s*<\/tool_call>)/g;
const TAIL = /\s*<\/function>\s*<\/tool_call>/y;

export const qwen3Coder: ToolSyntax = {
  markers: [],
  lastCharacters: '>',
  find(text, ended, tools) {
    const start = text.indexOf(OPEN);
    if (start < 0) return undefined;
    const entries: [string, string][] = [];
    const cursor = textCursor(text, start + OPEN.length);
    const name = cursor.next(HEAD)?.[1];
    if (name === undefined) return unreadable(text, start, cursor.at, ended);
    for (let key = cursor.next(KEY); key; key = cursor.next(KEY)) {
      const value = cursor.until(VALUE_END);
      // A value may be anything: without its end, nothing behind it is known.
      if (value === undefined) return ended ? { start, end: text.length, call: unended(CLOSE) } : undefined;
      entries.push([key[1]!, value]);
    }
    if (cursor.next(TAIL)) return { start, end: cursor.at, call: callFromTexts(name.trim(), entries, tools) };
    return unreadable(text, start, cursor.at, ended);
  },
  mayBegin: mayBeginTagged,
  render: (call) => callInTexts(call, partsOf(call.name)),
  parts: partsOf,
};

function partsOf(name: string): CallParts {
  return {
    before: `${OPEN}\n<function=${name}>\n`,
    between: '',
    after: `</function>\n${CLOSE}`,
    argument: (key) => [`<parameter=${key}>\n`, '\n</parameter>\n'],
    text: { open: '', close: '', without: ['</parameter>', '<parameter=', '</function>'] },
  };
}

/** A call that is not, or not yet, written as it should be from `at` on. */
function unreadable(text: string, start: number, at: number, ended: boolean): FoundCall | undefined {
  const close = text.indexOf(CLOSE, at);
  if (close >= 0)
    return {
      start,
      end: close + CLOSE.length,
      call: 'the call is not <function=name>, <parameter=key> and their ends',
    };
  return ended ? { start, end: text.length, call: unended(CLOSE) } : undefined;
}

const [SEED_OPEN, SEED_CLOSE] = ['<seed:tool_call>', '</seed:tool_call>'];
const SEED_VALUE_END = /<\/parameter>(?=\s*(?:<parameter=|<\/function>))/g;

const seedTexts: TaggedTexts = {
  open: SEED_OPEN,
  close: SEED_CLOSE,
  name: /\s*<function=([^<>\n]+)>/y,
  key: /\s*<parameter=([^<>\n]*)>/y,
  argument: ([, key]) => [key!, SEED_VALUE_END],
  tail: /\s*<\/function>\s*<\/seed:tool_call>/y,
  fault: 'the call is not <function=name>, <parameter=key> and their ends',
};

export const seedOss = textsSyntax(seedTexts, partsOfSeed, {
  markers: [SEED_OPEN, SEED_CLOSE],
  thoughts: otherThinkingTags.seed,
});

function partsOfSeed(name: string): CallParts {
  return {
    before: `${SEED_OPEN}\n<function=${name}>\n`,
    between: '',
    after: `</function>\n${SEED_CLOSE}`,
    argument: (key) => [`<parameter=${key}>`, '</parameter>\n'],
    text: { open: '', close: '', without: ['</parameter>'] },
  };
}
