// Tool calls of DeepSeek V3, R1 and V3.1, whose marks contain special bars and spaces, and the similar ones of Kimi K2 and Solar: a name, a mark, and arguments in JSON.
import { otherThinkingTags } from '../common/opening.ts';
import { writableArguments } from './call-arguments.ts';
import { endOfBody, markBefore, mayBeginWith, unended } from './tagged-calls.ts';
import {
  callId,
  callWithArguments,
  type NamedArguments,
  type ReadCall,
  spacedJson,
  type ToolSyntax,
} from './tool-syntax.ts';

/** The marks of a syntax: of a call, and those around all calls of a turn. */
interface Marks {
  readonly begin: string;
  readonly separator: string;
  readonly end: string;
  readonly beginAll: string;
  readonly endAll: string;
  /** Marks of the turn that are neither text nor a call. @default none */
  readonly others?: readonly string[];
}

const deepSeek: Marks = {
  begin: '<｜tool▁call▁begin｜>',
  separator: '<｜tool▁sep｜>',
  end: '<｜tool▁call▁end｜>',
  beginAll: '<｜tool▁calls▁begin｜>',
  endAll: '<｜tool▁calls▁end｜>',
};

const kimi: Marks = {
  begin: '<|tool_call_begin|>',
  separator: '<|tool_call_argument_begin|>',
  end: '<|tool_call_end|>',
  beginAll: '<|tool_calls_section_begin|>',
  endAll: '<|tool_calls_section_end|>',
};

/** `function`, a mark, the name, and the arguments as a block of JSON; in later versions the name, a mark and the arguments. */
function deepSeekCall(before: string, body: string): NamedArguments | string {
  const [, name = before, json] = /^(?:([^\n]*)\n)?\s*(?:```json\s*)?([\s\S]*?)(?:\s*```)?\s*$/.exec(body) ?? [];
  return callWithArguments(name.trim(), json ?? body);
}

function syntaxOf(
  marks: Marks,
  read: (before: string, body: string) => ReadCall | string,
  render: ToolSyntax['render'],
): ToolSyntax {
  const { begin, separator, end, beginAll, endAll, others = [] } = marks;
  const between = [beginAll, endAll, ...others];
  return {
    markers: [begin, separator, end, ...between],
    lastCharacters: '>',
    find(text, ended) {
      const start = text.indexOf(begin);
      const mark = markBefore(text, between, start);
      if (mark) return mark;
      if (start < 0) return undefined;
      const split = text.indexOf(separator, start);
      const close = endOfBody(text, split < 0 ? start : split, end);
      if (close < 0) return ended ? { start, end: text.length, call: unended(end) } : undefined;
      const behind = close + end.length;
      if (split < 0 || split > close) return { start, end: behind, call: `the call has no ${separator}` };
      const call = read(text.slice(start + begin.length, split).trim(), text.slice(split + separator.length, close));
      return { start, end: behind, call };
    },
    mayBegin: (text) => mayBeginWith(text, begin, ...between),
    render,
  };
}

export const deepSeekV3 = syntaxOf(deepSeek, deepSeekCall, (call) => {
  const { begin, separator, end, beginAll, endAll } = deepSeek;
  const json = spacedJson(writableArguments(call));
  return `${beginAll}${begin}function${separator}${call.name}\n\`\`\`json\n${json}\n\`\`\`${end}${endAll}`;
});

export const deepSeekV31 = syntaxOf(deepSeek, deepSeekCall, (call) => {
  const { begin, separator, end, beginAll, endAll } = deepSeek;
  return `${beginAll}${begin}${call.name}${separator}${spacedJson(writableArguments(call))}${end}${endAll}`;
});

/** Templates write the id instead of the name: functions.name:0. */
const KIMI_ID = /^(?:functions\.)?(.+?)(?::\d+)?$/;

export const kimiK2: ToolSyntax = {
  ...syntaxOf(
    kimi,
    (id, json) => {
      const call = callWithArguments(KIMI_ID.exec(id)?.[1] ?? id, json.trim());
      return typeof call === 'string' ? call : { id, ...call };
    },
    (call) => {
      const { begin, separator, end, beginAll, endAll } = kimi;
      const json = spacedJson(writableArguments(call));
      return `${beginAll}${begin}functions.${call.name}:0${separator}${json}${end}${endAll}`;
    },
  ),
  idOf: (name, index) => `functions.${name}:${index - 1}`,
};

const solarMarks: Marks = {
  begin: '<|tool_call:begin|>',
  separator: '<|tool_call:args|>',
  end: '<|tool_call:end|>',
  beginAll: '<|tool_calls|>',
  endAll: '<|calls|>',
  others: ['<|begin|>assistant', '<|content|>'],
};
const SOLAR_NAME = '<|tool_call:name|>';

/** Each call has an id. Thoughts, text and calls are parts of a turn, each of which begins with its own mark. */
export const solar: ToolSyntax = {
  ...syntaxOf(
    solarMarks,
    (head, json) => {
      const [id, name] = head.split(SOLAR_NAME).map((part) => part.trim());
      if (!id || !name) return `the call has no ${SOLAR_NAME}`;
      const call = callWithArguments(name, json.trim());
      return typeof call === 'string' ? call : { id, ...call };
    },
    (call) => {
      const { begin, separator, end, beginAll } = solarMarks;
      const json = spacedJson(writableArguments(call));
      return `${beginAll}${begin}${callId(1)}${SOLAR_NAME}${call.name}${separator}${json}${end}`;
    },
  ),
  markers: [...Object.values(solarMarks).flat(), '<|begin|>', SOLAR_NAME],
  thoughts: otherThinkingTags.solar,
};
