// What a chat template knows of tools, found out by trying: it is asked to offer one and to write a call.
import { GradusError } from '../errors.ts';
import type { Message, ToolSpec } from '../message.ts';
import { toolSyntaxes } from '../tools/syntaxes.ts';
import { readTurn, type ToolSyntax } from '../tools/tool-syntax.ts';
import type { ChatTemplate } from './chat-template.ts';

const probe: ToolSpec = { name: 'probe', description: 'A probe', parameters: { type: 'object' } };
const call = { id: 'call_1', name: probe.name, arguments: { value: 1 } };
const question: Message = { role: 'user', content: '?' };

export interface ToolUse {
  readonly syntax: ToolSyntax;
  /** Whether the template itself tells the model of tools and of what they answered. */
  readonly native: boolean;
}

/** Throws `TOOL_SYNTAX_UNKNOWN` where a template writes calls that nobody here can read. */
export function toolUse(template: ChatTemplate): ToolUse {
  const offered = template.render([question], { tools: [probe], addGenerationPrompt: true });
  if (offered === template.render([question], { addGenerationPrompt: true })) {
    return { syntax: toolSyntaxes.plain, native: false };
  }
  const called: Message = { role: 'assistant', content: '', toolCalls: [call] };
  const turn = textBehind(offered, template.render([question, called], { tools: [probe] }));
  const syntax = Object.values(toolSyntaxes).find((known) => canRead(known, turn));
  if (syntax) return { syntax, native: true };
  throw new GradusError('TOOL_SYNTAX_UNKNOWN', 'the chat template writes tool calls in a way that is not known here', {
    hint: `give another with chat_template: PATH that writes them as ${Object.keys(toolSyntaxes).join(', ')}`,
    path: 'chat_template',
  });
}

/** What `text` has that `start` does not begin with. */
function textBehind(start: string, text: string): string {
  let shared = 0;
  while (shared < start.length && start[shared] === text[shared]) shared++;
  return text.slice(shared);
}

function canRead(syntax: ToolSyntax, turn: string): boolean {
  const reader = readTurn(syntax);
  reader.push(turn);
  const { toolCalls } = reader.end();
  return JSON.stringify(toolCalls) === JSON.stringify([call]);
}
