// Tool calls of Hermes and Qwen: <tool_call>{"name": …, "arguments": {…}}</tool_call>, possibly several.
import { findTagged, mayBeginTagged, tagged } from './tagged-calls.ts';
import { callFromJson, spacedJson, type ToolSyntax } from './tool-syntax.ts';

export const hermes: ToolSyntax = {
  markers: [],
  find: (text, ended) => findTagged(text, ended, (body) => callFromJson(body, 'arguments')),
  mayBegin: mayBeginTagged,
  render: ({ name, arguments: args }) => tagged(`\n${spacedJson({ name, arguments: args })}\n`),
};
