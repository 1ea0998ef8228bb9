// Renders conversations with a model's chat template.
import { GradusError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { Renderer } from '../rendering.ts';
import type { State } from '../rl.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { ChatTemplate } from './chat-template.ts';
import { parseCalls, parseText } from './parse-turn.ts';
import { keepSampledTurns } from './sampled-turns.ts';
import { type ToolUse, toolUse } from './tool-use.ts';
import { toolsAsText } from './tools-as-text.ts';

export interface ChatRendererOptions {
  /** Tokens that end the assistant's turn: all that the model's generation config names. */
  readonly stopIds: ReadonlySet<number>;
}

/**
 * The prompt is the conversation, then what begins the assistant's next turn. What the template writes is taken as it is, with no token added.
 * Turns that were sampled keep their ids, whatever the template would make of them; one that drops them is `CHAT_TEMPLATE_REWRITES_TURNS`.
 * Tools are offered and called in the template's own way; where it has none, as plain text. Throws `TOOL_SYNTAX_UNKNOWN` where its way is not known.
 */
export function chatRenderer(tokenizer: Tokenizer, template: ChatTemplate, { stopIds }: ChatRendererOptions): Renderer {
  const stopTexts = [...stopIds].map((id) => tokenizer.decode([id]));
  let use: ToolUse | undefined;
  const toolsOf = () => (use ??= toolUse(template));
  const textOf = (state: State) => {
    const { messages, tools } = state;
    const asText = speaksOfTools(state) && !toolsOf().native;
    if (asText) return template.render(toolsAsText(state), { addGenerationPrompt: true });
    return template.render(messages, { addGenerationPrompt: true, ...(tools?.length && { tools }) });
  };
  const turns = keepSampledTurns({
    whole: (state) => tokenizer.encode(textOf(state)),
    after(state, index, completionIds) {
      const rest = textBehindTurn(state, index, textOf);
      const ended = stopIds.has(completionIds.at(-1)!);
      const end = ended ? stopTexts.find((text) => rest.startsWith(text)) : undefined;
      return tokenizer.encode(rest.slice(end?.length ?? 0));
    },
    parse: (completionIds, tools = []) =>
      tools.length > 0
        ? parseCalls(tokenizer, stopIds, toolsOf().syntax, completionIds)
        : parseText(tokenizer, stopIds, completionIds),
  });
  return { stopIds, ...turns };
}

function speaksOfTools({ messages, tools = [] }: State): boolean {
  return tools.length > 0 || messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls);
}

/**
 * What the template writes behind the turn at `index`. A short text of nobody's stands in for it: what was sampled, a template might trim,
 * or strip of its thoughts.
 */
function textBehindTurn(state: State, index: number, textOf: (state: State) => string): string {
  let standIn = '\ue000';
  while (state.messages.some(({ content }) => content.includes(standIn))) standIn += '\ue000';
  const turn: Message = { role: 'assistant', content: standIn };
  const text = textOf({ ...state, messages: state.messages.with(index, turn) });
  const start = text.indexOf(standIn);
  if (start >= 0) return text.slice(start + standIn.length);
  throw new GradusError('CHAT_TEMPLATE_REWRITES_TURNS', 'the chat template drops earlier turns when others follow', {
    hint: 'give another with chat_template: PATH: what was sampled must stay as it is',
    path: 'chat_template',
  });
}
