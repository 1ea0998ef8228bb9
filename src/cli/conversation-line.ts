// What was said in an episode, in one line: the policy's turns as they are, what it was answered in brackets.
import type { Message } from '../message.ts';

/** @param messages all behind the prompt, where the policy had several turns; else it is the completion alone */
export function conversationLine(completion: string, messages?: readonly Message[]): string {
  if (!messages) return completion;
  return messages
    .map((message) => (message.role === 'assistant' ? turnText(message) : `[${message.content}]`))
    .join(' ');
}

function turnText({ content, toolCalls = [] }: Message): string {
  const calls = toolCalls.map(({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`);
  return [content, ...calls].filter(Boolean).join(' ');
}
