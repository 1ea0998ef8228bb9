// Renders for base models, which know no chat: a prompt is plain text.
import { GradusError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { Renderer } from '../rendering.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { parseText } from './parse-text.ts';
import { keepSampledTurns } from './sampled-turns.ts';

export interface PlainRendererOptions {
  /** Tokens that end a completion. */
  readonly stopIds: ReadonlySet<number>;
  /** Whether to add what the tokenizer puts around every text, such as a beginning-of-sequence token. @default true */
  readonly addSpecialTokens?: boolean;
}

const between = '\n\n';

/**
 * The prompt is the text of all messages, an empty line between each two; turns that were sampled keep their ids. Throws
 * `TOOLS_NEED_CHAT_TEMPLATE` where a state offers tools.
 */
export function plainRenderer(tokenizer: Tokenizer, options: PlainRendererOptions): Renderer {
  const { stopIds, addSpecialTokens = true } = options;
  const textOf = (messages: readonly Message[]) => messages.map(({ content }) => content).join(between);
  const turns = keepSampledTurns({
    whole({ messages, tools = [] }) {
      if (tools.length > 0) {
        throw new GradusError('TOOLS_NEED_CHAT_TEMPLATE', 'the environment offers tools, but prompts are plain text', {
          hint: 'use a model with a chat template, and chat_template: auto',
          path: 'chat_template',
        });
      }
      return tokenizer.encode(textOf(messages), { addSpecialTokens });
    },
    after: ({ messages }, index) => tokenizer.encode(between + textOf(messages.slice(index + 1))),
    parse: (completionIds) => parseText(tokenizer, stopIds, completionIds),
  });
  return { stopIds, ...turns };
}
