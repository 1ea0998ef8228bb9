// Finds out how a chat template supports tools, by rendering the offer of a tool and a call of it.
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
  /** Whether the template itself renders tools and their answers. */
  readonly native: boolean;
}

/** Throws `TOOL_SYNTAX_UNKNOWN` if the template writes calls in an unknown syntax. */
export function toolUse(template: ChatTemplate): ToolUse {
  const offered = template.render([question], { tools: [probe], addGenerationPrompt: true });
  if (offered === template.render([question], { addGenerationPrompt: true })) {
    return { syntax: toolSyntaxes.plain, native: false };
  }
  const called: Message = { role: 'assistant', content: '', toolCalls: [call] };
  const turn = textAfter(offered, template.render([question, called], { tools: [probe] }));
  const syntax = Object.values(toolSyntaxes).find((known) => canRead(known, turn));
  if (syntax) return { syntax, native: true };
  throw new GradusError('TOOL_SYNTAX_UNKNOWN', 'the chat template writes tool calls in a way that is not known here', {
    hint: `give another with chat_template: PATH that writes them as ${Object.keys(toolSyntaxes).join(', ')}`,
    path: 'chat_template',
  });
}

/** The rest of `text` after the prefix that it shares with `start`. */
function textAfter(start: string, text: string): string {
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
