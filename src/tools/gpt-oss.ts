// Tool calls of gpt-oss: a message in the channel commentary to functions.name, with arguments in JSON, up to <|call|>.
import { writableArguments } from './call-arguments.ts';
import { jsonExtent } from './json-extent.ts';
import { mayBeginWith } from './tagged-calls.ts';
import { callWithArguments, spacedJson, type ToolSyntax } from './tool-syntax.ts';

/** A message to a function: models name it after the channel, templates before it. */
const TO = ' to=functions.';
const BEFORE = /(?:<\|start\|>assistant)?(?:<\|channel\|>(?:commentary|analysis))?$/;
const BEHIND =
  / to=functions\.([\w.-]+) ?(?:<\|channel\|>(?:commentary|analysis) ?)?(?:<\|constrain\|>)?(?:json|code)? ?<\|message\|>/y;
/** Longer than what `BEFORE` finds. */
const MOST_BEFORE = 60;
const CALL = '<|call|>';
/** Text that may still become such a message, or its end. */
const beginnings = ['<|start|>assistant', '<|channel|>', TO, CALL];

export const gptOss: ToolSyntax = {
  markers: ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', CALL],
  lastCharacters: '}>',
  find(text, ended) {
    const to = text.indexOf(TO);
    BEHIND.lastIndex = to;
    const head = to < 0 ? null : BEHIND.exec(text);
    const mark = text.indexOf(CALL);
    if (mark >= 0 && (!head || mark < to)) return { start: mark, end: mark + CALL.length, call: [] };
    if (!head) return undefined;
    const start = to - BEFORE.exec(text.slice(Math.max(0, to - MOST_BEFORE), to))![0].length;
    const body = BEHIND.lastIndex;
    const unended = ended ? { start, end: text.length, call: 'the call does not end' } : undefined;
    const json = body + /^\s*/.exec(text.slice(body))![0].length;
    if (json >= text.length) return unended;
    const extent = jsonExtent(text, json);
    if ('isOpen' in extent) return unended;
    const close = text.indexOf(CALL, json);
    const end = 'end' in extent ? extent.end : close < 0 ? text.length : close;
    return { start, end, call: callWithArguments(head[1]!, text.slice(json, end)) };
  },
  mayBegin: (text) => mayBeginWith(text, ...beginnings),
  render: (call) =>
    ` to=functions.${call.name}<|channel|>commentary json<|message|>${spacedJson(writableArguments(call))}${CALL}`,
};
