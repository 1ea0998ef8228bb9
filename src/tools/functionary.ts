// Tool calls of Functionary: <function=name>{…}</function> in version 3.1; in version 3.2 the turn is messages to recipients, >>>name and its arguments on the next line.
import { writableArguments } from './call-arguments.ts';
import { jsonExtent } from './json-extent.ts';
import { endOfBody, mayBeginWith, unended } from './tagged-calls.ts';
import { callWithArguments, spacedJson, type ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE] = ['<function=', '</function>'];
const HEAD = /<function=([^<>\n]+)>/y;

export const functionaryV31: ToolSyntax = {
  markers: [],
  lastCharacters: '>',
  find(text, ended) {
    const start = text.indexOf(OPEN);
    if (start < 0) return undefined;
    HEAD.lastIndex = start;
    const name = HEAD.exec(text)?.[1];
    const body = name === undefined ? start + OPEN.length : HEAD.lastIndex;
    const close = endOfBody(text, body, CLOSE);
    if (close < 0) return ended ? { start, end: text.length, call: unended(CLOSE) } : undefined;
    const end = close + CLOSE.length;
    if (name === undefined) return { start, end, call: 'the call has no name' };
    return { start, end, call: callWithArguments(name.trim(), text.slice(body, close)) };
  },
  mayBegin: (text) => mayBeginWith(text, OPEN),
  render: (call) => `${OPEN}${call.name}>${spacedJson(writableArguments(call))}${CLOSE}`,
};

/** The recipient of what the user sees. */
const TO_USER = /(?:^|>>>)all\n/;
/** Prompts end with the mark of the first message; what follows a call may lack it. */
const TO_TOOL = /(?:^\s*|>>>)([\w.-]+)\n\s*(?=\{)/;
const MAY_BE = /^\s*[\w.-]*(?:\n\s*(?:\{[\s\S]*)?)?$|>>>[\w.-]*(?:\n\s*(?:\{[\s\S]*)?)?$|>{1,2}$/;

export const functionaryV32: ToolSyntax = {
  markers: [],
  lastCharacters: '}\n',
  find(text, ended) {
    const said = TO_USER.exec(text);
    const head = TO_TOOL.exec(text);
    if (said && (!head || said.index < head.index))
      return { start: said.index, end: said.index + said[0].length, call: [] };
    if (!head) return undefined;
    const start = head.index;
    const json = start + head[0].length;
    const extent = jsonExtent(text, json);
    if ('isOpen' in extent) return ended ? { start, end: text.length, call: 'the call does not end' } : undefined;
    const next = text.indexOf('>>>', json);
    const end = 'end' in extent ? extent.end : next < 0 ? text.length : next;
    return { start, end, call: callWithArguments(head[1]!, text.slice(json, end)) };
  },
  mayBegin(text) {
    const at = text.search(MAY_BE);
    return at < 0 ? text.length : at;
  },
  render: (call) => `${call.name}\n${spacedJson(writableArguments(call))}`,
};
