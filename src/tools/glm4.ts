// Tool calls of GLM 4.5 and later: <tool_call>name, then <arg_key>key</arg_key><arg_value>value</arg_value> for each argument, and </tool_call>.
import type { CallParts } from '../rendering.ts';
import { mayBeginTagged, unended } from './tagged-calls.ts';
import { callFromTexts, callInTexts } from './text-arguments.ts';
import { textCursor } from './text-cursor.ts';
import type { ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE] = ['<tool_call>', '</tool_call>'];
const NAME = /\s*([^\s<{[]+)\s*/y;
const KEY = /\s*<arg_key>([^<]*)<\/arg_key>\s*<arg_value>/y;
const VALUE_END = /<\/arg_value>(?=\s*(?:<arg_key>|<\/tool_call>))/g;
const TAIL = /\s*<\/tool_call>/y;

export const glm4: ToolSyntax = {
  markers: [OPEN, CLOSE, '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'],
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
        const value = cursor.until(VALUE_END);
        if (value === undefined) return open;
        entries.push([key[1]!.trim(), value]);
      }
      if (cursor.next(TAIL)) return { start, end: cursor.at, call: callFromTexts(name, entries, tools) };
    }
    const close = text.indexOf(CLOSE, cursor.at);
    if (close < 0) return open;
    return { start, end: close + CLOSE.length, call: 'the call is not a name with <arg_key> and <arg_value>' };
  },
  mayBegin: mayBeginTagged,
  render: (call) => callInTexts(call, partsOf(call.name)),
  parts: partsOf,
};

function partsOf(name: string): CallParts {
  return {
    before: `${OPEN}${name}\n`,
    between: '',
    after: CLOSE,
    argument: (key) => [`<arg_key>${key}</arg_key>\n<arg_value>`, '</arg_value>\n'],
    text: { open: '', close: '', without: ['</arg_value>'] },
  };
}
