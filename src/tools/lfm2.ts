// Tool calls of LFM2 and LFM2.5: <|tool_call_start|>[name(key='value', …), …]<|tool_call_end|>, with the literals of Python.

import { messageOf } from '../errors.ts';
import type { CallParts } from '../rendering.ts';
import { writableArguments } from './call-arguments.ts';
import { pythonCalls, pythonLiteral } from './python-calls.ts';
import { mayBeginWith, unended } from './tagged-calls.ts';
import { type FoundCall, joinedParts, spacedJson, type ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE] = ['<|tool_call_start|>', '<|tool_call_end|>'];

export const lfm2: ToolSyntax = {
  markers: [OPEN, CLOSE],
  lastCharacters: '>',
  find(text, ended) {
    const start = text.indexOf(OPEN);
    if (start < 0) return undefined;
    const bodyStart = start + OPEN.length;
    let fault: string | undefined;
    // The tag may be part of a string: then the calls before it are not complete.
    for (let close = text.indexOf(CLOSE, bodyStart); close >= 0; close = text.indexOf(CLOSE, close + 1)) {
      const call = readCalls(text.slice(bodyStart, close));
      if (typeof call !== 'string') return { start, end: close + CLOSE.length, call };
      fault ??= call;
      if (!endsInString(text.slice(bodyStart, close))) return { start, end: close + CLOSE.length, call };
    }
    return ended ? { start, end: text.length, call: fault ?? unended(CLOSE) } : undefined;
  },
  mayBegin: (text) => mayBeginWith(text, OPEN),
  render(call) {
    const given = Object.entries(writableArguments(call) as Record<string, unknown>);
    return joinedParts(
      partsOf(call.name),
      given.map(([key, value]) => [key, pythonLiteral(value, spacedJson)]),
    );
  },
  parts: partsOf,
};

function partsOf(name: string): CallParts {
  return {
    before: `${OPEN}[${name}(`,
    between: ', ',
    after: `)]${CLOSE}`,
    argument: (key) => [`${key}=`, ''],
    text: { open: "'", close: "'", without: ["'", '\n', '\r'], escapes: '\\\'"nrt' },
  };
}

function readCalls(body: string): FoundCall['call'] {
  try {
    const calls = pythonCalls(body);
    return calls.length > 0 ? calls : 'the list has no call';
  } catch (error) {
    return `the call is not Python: ${messageOf(error)}`;
  }
}

/** Whether the text ends within a string. */
function endsInString(text: string): boolean {
  const rest = text.replaceAll(/(['"])(?:(?!\1)[^\\]|\\[\s\S])*\1/g, '');
  return /['"]/.test(rest);
}
