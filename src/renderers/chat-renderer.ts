// Renders conversations with a model's chat template.
import type { Renderer } from '../rendering.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { ChatTemplate } from './chat-template.ts';
import { parseText } from './parse-text.ts';

export interface ChatRendererOptions {
  /** Tokens that end the assistant's turn: all that the model's generation config names. */
  readonly stopIds: ReadonlySet<number>;
}

/** The prompt is the conversation, then what begins the assistant's next turn. What the template writes is taken as it is, with no token added. */
export function chatRenderer(tokenizer: Tokenizer, template: ChatTemplate, { stopIds }: ChatRendererOptions): Renderer {
  return {
    stopIds,
    render: ({ messages, tools }) => ({
      ids: tokenizer.encode(template.render(messages, { addGenerationPrompt: true, ...(tools && { tools }) })),
    }),
    parse: (completionIds) => parseText(tokenizer, stopIds, completionIds),
  };
}
