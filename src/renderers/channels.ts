// Turns of gpt-oss: messages in channels, of which users see the answer (final) and what accompanies calls (commentary), and not the thoughts (analysis).
import { GradusError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { Action } from '../rl.ts';
import type { ChatTemplate } from './chat-template.ts';

/** Special tokens around messages. */
export const channelMarks = ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>'];

const HEAD = /(?:<\|start\|>assistant)?(?: to=\S+?)?<\|channel\|>(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>/g;

/** Whether a template writes an answer in a channel. */
export function writesChannels(template: ChatTemplate): boolean {
  const answered: Message[] = [
    { role: 'user', content: '?' },
    { role: 'assistant', content: '!' },
  ];
  try {
    return template.render(answered).includes('<|channel|>final<|message|>!');
  } catch (error) {
    if (error instanceof GradusError) return false;
    throw error;
  }
}

/** The turn with its answer as content, and its thoughts apart. A text without channels is all answer. */
export function withoutChannels({ message, ...action }: Action): Action {
  const { content } = message;
  const heads = [...content.matchAll(HEAD)];
  if (heads.length === 0) return { ...action, message: { ...message, content: withoutMarks(content) } };
  const said: Record<'answers' | 'thoughts', string[]> = { answers: [], thoughts: [] };
  for (const [i, head] of heads.entries()) {
    const body = content.slice(head.index + head[0].length, heads[i + 1]?.index);
    const end = body.indexOf('<|end|>');
    said[head[1] === 'analysis' ? 'thoughts' : 'answers'].push(withoutMarks(end < 0 ? body : body.slice(0, end)));
  }
  const [answer, thoughts] = [said.answers, said.thoughts].map((texts) => texts.filter(Boolean).join('\n'));
  return { ...action, message: { ...message, content: answer!, ...(thoughts && { reasoningContent: thoughts }) } };
}

/** The message as such templates take it: where there is a call they refuse thoughts beside content, and show either as thoughts. */
export function inChannels(message: Message): Message {
  const { content, reasoningContent, toolCalls } = message;
  if (!toolCalls || !reasoningContent || content === '') return message;
  return { ...message, content: '', reasoningContent: `${reasoningContent}\n${content}` };
}

function withoutMarks(text: string): string {
  return channelMarks.reduce((rest, mark) => rest.replaceAll(mark, ''), text);
}
