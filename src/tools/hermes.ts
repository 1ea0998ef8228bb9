// Tool calls of Hermes and Qwen: <tool_call>{"name": …, "arguments": {…}}</tool_call>, possibly several.
import { writableArguments } from './call-arguments.ts';
import { findTagged, mayBeginTagged, tagged } from './tagged-calls.ts';
import { callFromJson, spacedJson, type ToolSyntax } from './tool-syntax.ts';

export const hermes: ToolSyntax = {
  markers: [],
  lastCharacters: '>',
  find: (text, ended) =>
    findTagged(text, ended, (body) => callFromJson(body, { name: 'name', arguments: 'arguments' })),
  mayBegin: mayBeginTagged,
  render: (call) => tagged(`\n${spacedJson({ name: call.name, arguments: writableArguments(call) })}\n`),
};
