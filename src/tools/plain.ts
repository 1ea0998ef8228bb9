// Tool calls for models that were not trained on any: <tool_call>name {"argument": …}</tool_call>, which is short and easy to learn.
import { writableArguments } from './call-arguments.ts';
import { findTagged, mayBeginTagged, tagged } from './tagged-calls.ts';
import { callWithArguments, type NamedArguments, spacedJson, type ToolSyntax } from './tool-syntax.ts';

export const plain: ToolSyntax = {
  markers: [],
  lastCharacters: '>',
  find: (text, ended) => findTagged(text, ended, parse),
  mayBegin: mayBeginTagged,
  render: (call) => tagged(`${call.name} ${spacedJson(writableArguments(call))}`),
};

function parse(body: string): NamedArguments | string {
  const [, name, json] = /^\s*([^\s{]+)\s*(.*)$/s.exec(body) ?? [];
  return name === undefined ? 'the call has no name' : callWithArguments(name, json!);
}
