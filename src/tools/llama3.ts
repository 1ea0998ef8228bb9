// Tool calls of Llama 3: a turn that begins with {"name": …, "parameters": {…}}, or has them after <|python_tag|>; `;` separates several.
import { writableArguments } from '../call-arguments.ts';
import { overlap } from './tagged-calls.ts';
import { callFromJson, type FoundCall, spacedJson, type ToolSyntax } from './tool-syntax.ts';

const TAG = '<|python_tag|>';

export const llama3: ToolSyntax = {
  markers: [TAG],
  find(text, ended) {
    const tagged = text.indexOf(TAG);
    const lead = /^[\s;]*/.exec(text.slice(tagged < 0 ? 0 : tagged + TAG.length))![0].length;
    const [start, jsonStart] = tagged < 0 ? [0, lead] : [tagged, tagged + TAG.length + lead];
    const json = text.slice(jsonStart);
    // Without the tag, only an object that begins like a call counts, since an answer may also be JSON.
    if (tagged < 0 && !/^\{\s*"(name|type)"\s*:/.test(json)) return undefined;
    const unreadable = (fault: string): FoundCall => ({ start, end: text.length, call: fault });
    if (json !== '' && !json.startsWith('{')) return unreadable('the call is no JSON object');
    const length = objectLength(json);
    if (length === undefined) return ended ? unreadable('the call does not end') : undefined;
    return { start, end: jsonStart + length, call: callFromJson(json.slice(0, length), 'parameters') };
  },
  mayBegin(text) {
    const tagged = text.indexOf(TAG);
    if (tagged >= 0) return tagged;
    // An object that begins like a call, or may yet.
    if (/^[\s;]*(\{\s*("(name|type)"\s*(:.*)?|"?|"\w{1,4}"?)?)?$/s.test(text)) return 0;
    return text.length - overlap(text, TAG);
  },
  render: (call) => spacedJson({ name: call.name, parameters: writableArguments(call) }),
};

/** The length of the JSON object at the start of `text`; `undefined` if it is incomplete. */
function objectLength(text: string): number | undefined {
  let depth = 0;
  for (const { 0: piece, index } of text.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[{}]/gs)) {
    if (piece === '{') depth++;
    else if (piece === '}' && --depth === 0) return index + 1;
  }
  return undefined;
}
