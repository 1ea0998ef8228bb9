// Finds out how a chat template supports tools, by rendering the offer of a tool and a call of it.

import { sharedLength } from '../common/opening.ts';
import { GradusError } from '../errors.ts';
import type { Message, ToolSpec } from '../message.ts';
import { toolSyntaxes } from '../tools/syntaxes.ts';
import { callId, readTurn, type ToolSyntax } from '../tools/tool-syntax.ts';
import type { ChatTemplate } from './chat-template.ts';

const probe: ToolSpec = { name: 'probe', description: 'A probe', parameters: { type: 'object' } };
const call = { id: callId(1), name: probe.name, arguments: { value: 1 } };
const question: Message = { role: 'user', content: '?' };

export interface ToolUse {
  readonly syntax: ToolSyntax;
  /** Whether the template itself renders tools and their answers. */
  readonly native: boolean;
}

/** Of a template that cannot show a conversation with calls: tools are text. */
const withoutTools: ToolUse = { syntax: toolSyntaxes.plain, native: false };

/**
 * A template that offers tools but leaves their calls out counts as one without tools: with it, the model would not see what it called.
 * Throws `TOOL_SYNTAX_UNKNOWN` if the template writes calls in an unknown syntax, and `CHAT_TEMPLATE_FAILED` if it refuses them.
 */
export function toolUse(template: ChatTemplate): ToolUse {
  const offered = template.render([question], { tools: [probe], addGenerationPrompt: true });
  if (offered === template.render([question], { addGenerationPrompt: true })) return withoutTools;
  const called: Message = { role: 'assistant', content: '', toolCalls: [call] };
  const turn = textAfter(
    offered,
    withCall(() => template.render([question, called], { tools: [probe] })),
  );
  const syntax = Object.values(toolSyntaxes).find((known) => canRead(known, turn));
  if (syntax) return { syntax, native: true };
  if (!turn.includes(probe.name)) return withoutTools;
  throw new GradusError('TOOL_SYNTAX_UNKNOWN', 'the chat template writes tool calls in a way that is not known here', {
    hint: `give another with chat_template: PATH that writes them as ${Object.keys(toolSyntaxes).join(', ')}, or that writes no tools: they are then described in the system message; where the model has several, chat_template: auto:default may be such a one`,
    path: 'chat_template',
  });
}

/** Adds what the template was asked to its refusal, which would otherwise seem to concern the user's messages. */
function withCall(render: () => string): string {
  try {
    return render();
  } catch (error) {
    if (!(error instanceof GradusError)) throw error;
    throw new GradusError(error.code, `the chat template refuses a tool call that is shown to it: ${reasonOf(error)}`, {
      hint: 'give another with chat_template: PATH, which writes a call of a tool in a turn of the assistant',
      path: 'chat_template',
      cause: error,
    });
  }
}

/** The template's own message. */
function reasonOf({ message }: GradusError): string {
  return message.replace(/^the chat template refuses these messages: /, '');
}

/** The rest of `text` after the prefix that it shares with `start`, back to the start of a tag in which they differ, such as `<think>` and `<tool_call>`. */
function textAfter(start: string, text: string): string {
  const shared = text.slice(0, sharedLength(start, text));
  const tag = /<[^<>]*$/.exec(shared);
  return text.slice(tag?.index ?? shared.length);
}

function canRead(syntax: ToolSyntax, turn: string): boolean {
  const reader = readTurn(syntax);
  reader.push(turn);
  const { toolCalls } = reader.end();
  return JSON.stringify(toolCalls) === JSON.stringify([call]);
}
