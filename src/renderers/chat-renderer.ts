// Renders conversations with a model's chat template.
import { GradusError } from '../errors.ts';
import type { Renderer } from '../rendering.ts';
import type { State } from '../rl.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { ChatTemplate } from './chat-template.ts';
import { parseText } from './parse-text.ts';
import { keepSampledTurns } from './sampled-turns.ts';

export interface ChatRendererOptions {
  /** Tokens that end the assistant's turn: all that the model's generation config names. */
  readonly stopIds: ReadonlySet<number>;
}

/**
 * The prompt is the conversation, then what begins the assistant's next turn. What the template writes is taken as it is, with no token added.
 * Turns that were sampled keep their ids; a template that rewrites them is `CHAT_TEMPLATE_REWRITES_TURNS`.
 */
export function chatRenderer(tokenizer: Tokenizer, template: ChatTemplate, { stopIds }: ChatRendererOptions): Renderer {
  const textOf = ({ messages, tools }: State) =>
    template.render(messages, { addGenerationPrompt: true, ...(tools && { tools }) });
  const turns = keepSampledTurns({
    whole: (state) => tokenizer.encode(textOf(state)),
    after(state, index, completionIds) {
      const { messages } = state;
      const before = textOf({ ...state, messages: messages.slice(0, index) });
      const rest = textAfter(textOf(state), before, messages[index]!.content);
      const last = completionIds.at(-1);
      const end = last !== undefined && stopIds.has(last) ? tokenizer.decode([last]) : '';
      return tokenizer.encode(rest.startsWith(end) ? rest.slice(end.length) : rest);
    },
    parse: (completionIds) => parseText(tokenizer, stopIds, completionIds),
  });
  return { stopIds, ...turns };
}

/** What a template writes behind a turn, which it may have trimmed. */
function textAfter(text: string, before: string, content: string): string {
  const head = [content, content.trim()].map((said) => before + said).find((said) => text.startsWith(said));
  if (head !== undefined) return text.slice(head.length);
  throw new GradusError('CHAT_TEMPLATE_REWRITES_TURNS', 'the chat template changes earlier turns when others follow', {
    hint: 'give another with chat_template: PATH: what was sampled must stay as it is',
    path: 'chat_template',
  });
}
