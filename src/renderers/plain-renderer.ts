// Renders conversations as plain text, for base models without a chat template.
import type { Message } from '../message.ts';
import type { Renderer } from '../rendering.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { plain } from '../tools/plain.ts';
import { parseCalls, parseText, turnText } from './parse-turn.ts';
import { keepSampledTurns } from './sampled-turns.ts';
import { callsAsText, toolsAsText } from './tools-as-text.ts';

export interface PlainRendererOptions {
  /** Tokens that end a completion. */
  readonly stopIds: ReadonlySet<number>;
  /** Whether to add the tokens that the tokenizer puts around every text, such as a beginning-of-sequence token. @default true */
  readonly addSpecialTokens?: boolean;
}

const BETWEEN = '\n\n';

/** The prompt is the text of all messages, separated by empty lines. Sampled turns keep their ids. Tools are offered as text. */
export function plainRenderer(tokenizer: Tokenizer, options: PlainRendererOptions): Renderer {
  const { stopIds, addSpecialTokens = true } = options;
  const textOf = (messages: readonly Message[]) => messages.map(({ content }) => content).join(BETWEEN);
  const turns = keepSampledTurns({
    whole: (state) => tokenizer.encode(textOf(toolsAsText(state)), { addSpecialTokens }),
    after: (state, index) => tokenizer.encode(BETWEEN + textOf(callsAsText(state.messages.slice(index + 1)))),
    parse: (completionIds, tools = []) =>
      tools.length > 0
        ? parseCalls(tokenizer, stopIds, plain, completionIds)
        : parseText(tokenizer, stopIds, completionIds),
  });
  return { stopIds, ...turns, follow: () => turnText(tokenizer, plain) };
}
