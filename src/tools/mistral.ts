// Tool calls of Mistral: since version 3 of its templates a list in JSON after [TOOL_CALLS], since version 11 a name and [ARGS] for each call.
import { otherThinkingTags } from '../common/opening.ts';
import { writableArguments } from './call-arguments.ts';
import { callsInList } from './call-list.ts';
import { jsonExtent } from './json-extent.ts';
import { mayBeginWith } from './tagged-calls.ts';
import { callWithArguments, type FoundCall, spacedJson, type ToolSyntax } from './tool-syntax.ts';

const [CALLS, ARGS, CALL_ID] = ['[TOOL_CALLS]', '[ARGS]', '[CALL_ID]'];
const keys = { name: 'name', arguments: 'arguments', id: 'id' };
const NAMED = /\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*([\w-]+)\s*)?(?:\[ARGS\])?\s*(?=\{)/y;
/** Text that may still become a name with its marks, before the arguments. */
const NAME_OPEN = /^\s*[\w.-]*\s*(?:\[[A-Z_]*\]?[\w-]*\s*)*(?:\[[A-Z_]*)?$/;

const common = {
  markers: [CALLS, ARGS, CALL_ID],
  lastCharacters: '}\\]',
  find: findCalls,
  mayBegin: (text: string) => mayBeginWith(text, CALLS),
};

export const mistral: ToolSyntax = {
  ...common,
  render: (call) => `${CALLS}[${spacedJson({ name: call.name, arguments: writableArguments(call) })}]`,
};

export const mistralArgs: ToolSyntax = {
  ...common,
  thoughts: otherThinkingTags.mistral,
  render: (call) => `${CALLS}${call.name}${ARGS}${spacedJson(writableArguments(call))}`,
};

function findCalls(text: string, ended: boolean): FoundCall | undefined {
  const start = text.indexOf(CALLS);
  if (start < 0) return undefined;
  const body = start + CALLS.length;
  const unended = ended ? { start, end: text.length, call: 'the call does not end' } : undefined;
  const at = body + /^\s*/.exec(text.slice(body))![0].length;
  if (text[at] === '[' && !/^\[(?:ARGS|CALL_ID)/.test(text.slice(at, at + 8))) {
    const extent = jsonExtent(text, at);
    if ('isOpen' in extent) return unended;
    const end = 'end' in extent ? extent.end : nextCall(text, at);
    return { start, end, call: callsInList(text.slice(at, end), keys) };
  }
  NAMED.lastIndex = body;
  const named = NAMED.exec(text);
  if (!named) {
    if (NAME_OPEN.test(text.slice(body))) return unended;
    return { start, end: body, call: `the call is neither a JSON list nor a name with ${ARGS}` };
  }
  const extent = jsonExtent(text, NAMED.lastIndex);
  if ('isOpen' in extent) return unended;
  const end = 'end' in extent ? extent.end : nextCall(text, NAMED.lastIndex);
  const call = callWithArguments(named[1]!, text.slice(NAMED.lastIndex, end));
  const id = named[2];
  return { start, end, call: typeof call === 'string' || id === undefined ? call : { ...call, id } };
}

/** The end of the unreadable part. */
function nextCall(text: string, from: number): number {
  const next = text.indexOf(CALLS, from);
  return next < 0 ? text.length : next;
}
