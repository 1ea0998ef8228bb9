// Tool calls of GLM 4.5 and later: <tool_call>name, then <arg_key>key</arg_key><arg_value>value</arg_value> for each argument, and </tool_call>.
import type { CallParts } from '../rendering.ts';
import { mayBeginTagged } from './tagged-calls.ts';
import { findTexts, type TaggedTexts } from './tagged-texts.ts';
import { callInTexts } from './text-arguments.ts';
import type { ToolSyntax } from './tool-syntax.ts';

const [OPEN, CLOSE] = ['<tool_call>', '</tool_call>'];
const VALUE_END = /<\/arg_value>(?=\s*(?:<arg_key>|<\/tool_call>))/g;

const texts: TaggedTexts = {
  open: OPEN,
  close: CLOSE,
  name: /\s*([^\s<{[]+)\s*/y,
  key: /\s*<arg_key>([^<]*)<\/arg_key>\s*<arg_value>/y,
  argument: ([, key]) => [key!.trim(), VALUE_END],
  tail: /\s*<\/tool_call>/y,
  fault: 'the call is not a name with <arg_key> and <arg_value>',
};

export const glm4: ToolSyntax = {
  markers: [OPEN, CLOSE, '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'],
  lastCharacters: '>',
  find: (text, ended, tools) => findTexts(texts, text, ended, tools),
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
