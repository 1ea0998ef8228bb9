// Tool calls for models that were not trained on any: <tool_call>name {"argument": …}</tool_call>, which is short and easy to learn.
import { findTagged, mayBeginTagged, tagged } from './tagged-calls.ts';
import { type NamedArguments, parseObject, spacedJson, type ToolSyntax } from './tool-syntax.ts';

export const plain: ToolSyntax = {
  markers: [],
  find: (text, ended) => findTagged(text, ended, parse),
  mayBegin: mayBeginTagged,
  render: ({ name, arguments: args }) => tagged(`${name} ${spacedJson(args)}`),
};

function parse(body: string): NamedArguments | string {
  const [, name, json] = /^\s*([^\s{]+)\s*(.*)$/s.exec(body) ?? [];
  if (name === undefined) return 'the call has no name';
  const args = parseObject(json!);
  return typeof args === 'string' ? args : { name, arguments: args };
}
