// Tool calls that are lists in JSON between two tags: of Nemotron Nano 2, Apriel and Command (Cohere); of Granite 3 and Apertus, whose lists end with their bracket.
import { writableArguments } from './call-arguments.ts';
import { callsInList } from './call-list.ts';
import { jsonExtent } from './json-extent.ts';
import { mayBeginWith, unended } from './tagged-calls.ts';
import { type CallKeys, type NamedArguments, spacedJson, type ToolSyntax } from './tool-syntax.ts';

interface ListForm {
  readonly open: string;
  /** @default a list ends with its bracket */
  readonly close?: string;
  /** A mark that may follow the list. It can end the turn, and is then not part of the text. @default none */
  readonly mark?: string;
  /** @default a call has one key, its name, with its arguments */
  readonly keys?: CallKeys;
  /** A call as an item of the list. */
  readonly item: (call: NamedArguments) => object;
}

function listSyntax({ open, close = '', mark = '', keys, item }: ListForm): ToolSyntax {
  return {
    markers: [open, close, mark].filter(Boolean),
    lastCharacters: close ? '>' : mark ? '\\]>' : '\\]',
    find(text, ended) {
      const start = text.indexOf(open);
      const marked = mark ? text.indexOf(mark) : -1;
      if (marked >= 0 && (start < 0 || marked < start)) return { start: marked, end: marked + mark.length, call: [] };
      if (start < 0) return undefined;
      const list = start + open.length + /^\s*/.exec(text.slice(start + open.length))![0].length;
      const isUnended = ended ? { start, end: text.length, call: unended(close || ']') } : undefined;
      if (list === text.length) return isUnended;
      const extent = text[list] === '[' ? jsonExtent(text, list) : { brokenAfter: list };
      if ('isOpen' in extent) return isUnended;
      const behind = 'end' in extent ? extent.end : extent.brokenAfter;
      const tag = close ? text.indexOf(close, behind) : behind;
      if (close && tag < 0) return isUnended;
      const end = close ? tag : 'end' in extent ? behind : text.length;
      return { start, end: end + close.length, call: callsInList(text.slice(list, end), keys) };
    },
    mayBegin: (text) => Math.min(mayBeginWith(text, open), mark ? mayBeginWith(text, mark) : text.length),
    render: (call) => `${open}[${spacedJson(item(call))}]${close}${mark}`,
  };
}

const named = (call: NamedArguments) => ({ name: call.name, arguments: writableArguments(call) });

export const nemotronNano = listSyntax({
  open: '<TOOLCALL>',
  close: '</TOOLCALL>',
  keys: { name: 'name', arguments: 'arguments' },
  item: named,
});

export const apriel = listSyntax({
  open: '<tool_calls>',
  close: '</tool_calls>',
  keys: { name: 'name', arguments: 'arguments', id: 'id' },
  item: named,
});

export const granite3 = listSyntax({
  open: '<|tool_call|>',
  keys: { name: 'name', arguments: 'arguments' },
  item: named,
});

export const apertus = listSyntax({
  open: '<|tools_prefix|>',
  mark: '<|tools_suffix|>',
  item: (call) => ({ [call.name]: writableArguments(call) }),
});

export const command = listSyntax({
  open: '<|START_ACTION|>',
  close: '<|END_ACTION|>',
  keys: { name: 'tool_name', arguments: 'parameters', id: 'tool_call_id' },
  item: (call) => ({ tool_call_id: '0', tool_name: call.name, parameters: writableArguments(call) }),
});
