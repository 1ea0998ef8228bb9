// An episode in one line: the policy's turns, with the answers to them in brackets.

import type { Message } from '../message.ts';
import { argumentsJson } from '../tools/call-arguments.ts';

/** @param messages all messages after the prompt, if the policy had several turns; otherwise only the completion is shown */
export function conversationLine(completion: string, messages?: readonly Message[]): string {
  if (!messages) return completion;
  return messages
    .map((message) => (message.role === 'assistant' ? turnText(message) : `[${message.content}]`))
    .join(' ');
}

function turnText({ content, toolCalls = [] }: Message): string {
  const calls = toolCalls.map((call) => `${call.name}(${argumentsJson(call)})`);
  return [content, ...calls].filter(Boolean).join(' ');
}
