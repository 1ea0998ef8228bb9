// Renders conversations with a model's chat template.

import { openingOf, sharedLength } from '../common/opening.ts';
import { GradusError } from '../errors.ts';
import type { Message } from '../message.ts';
import { stopAtText } from '../policy.ts';
import type { RenderedPrompt, Renderer } from '../rendering.ts';
import type { State } from '../rl.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { type ChatTemplate, type TemplateVariables, templateWith } from './chat-template.ts';
import { parseCalls, parseText, turnText } from './parse-turn.ts';
import { keepSampledTurns } from './sampled-turns.ts';
import { type ToolUse, toolUse } from './tool-use.ts';
import { toolsAsText } from './tools-as-text.ts';

export interface ChatRendererOptions {
  /** Tokens that end the assistant's turn: all those in the model's generation config. */
  readonly stopIds: ReadonlySet<number>;
  /** Texts that end the turn as well. @default none */
  readonly stopTexts?: readonly string[];
  /** Variables that the template reads besides messages and tools. @default none */
  readonly templateVariables?: TemplateVariables;
}

/**
 * The prompt is the conversation and the beginning of the assistant's next turn, exactly as the template writes them, with no token added.
 * Sampled turns keep their ids, even if the template would render them differently; a template that drops them is the error
 * `CHAT_TEMPLATE_REWRITES_TURNS`. Tools are offered and called in the template's own syntax, or as plain text if it does not support tools.
 * Throws `TOOL_SYNTAX_UNKNOWN` if the syntax is not known.
 */
export function chatRenderer(tokenizer: Tokenizer, given: ChatTemplate, options: ChatRendererOptions): Renderer {
  const { stopIds, stopTexts = [], templateVariables = {} } = options;
  const template = templateWith(given, templateVariables);
  const ends = { stopIds, stopTexts };
  const endTexts = [...stopIds].map((id) => tokenizer.decode([id]));
  let use: ToolUse | undefined;
  const toolsOf = () => (use ??= toolUse(template));
  const textOf = (state: State, addGenerationPrompt = true) => {
    const { messages, tools } = state;
    const asText = speaksOfTools(state) && !toolsOf().native;
    if (asText) return template.render(toolsAsText(state), { addGenerationPrompt });
    return template.render(messages, { addGenerationPrompt, ...(tools?.length && { tools }) });
  };
  const prompt = (text: string, state: State): RenderedPrompt => {
    return {
      ids: tokenizer.encode(text),
      opening: openingOf(text, () => text.slice(sharedLength(text, textOf(state, false)))),
    };
  };
  const turns = keepSampledTurns({
    whole: (state) => prompt(textOf(state), state),
    after(state, index, completionIds) {
      const rest = textBehindTurn(state, index, textOf);
      const ended = stopIds.has(completionIds.at(-1)!);
      const end = ended ? endTexts.find((text) => rest.startsWith(text)) : undefined;
      return prompt(rest.slice(end?.length ?? 0), state);
    },
    parse: (completionIds, tools = [], opening) =>
      tools.length > 0
        ? parseCalls(tokenizer, ends, toolsOf().syntax, completionIds, opening)
        : parseText(tokenizer, ends, completionIds),
  });
  const stopWhen = stopAtText(stopTexts, (ids) => tokenizer.decode(ids));
  return {
    stopIds,
    ...(stopTexts.length > 0 && { stopTexts, stopWhen }),
    ...turns,
    renderCall: (call) => toolsOf().syntax.render(call),
    follow: (_, opening) => turnText(tokenizer, toolsOf().syntax, opening),
    withVariables: (variables) =>
      chatRenderer(tokenizer, given, { ...options, templateVariables: { ...templateVariables, ...variables } }),
  };
}

function speaksOfTools({ messages, tools = [] }: State): boolean {
  return tools.length > 0 || messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls);
}

/**
 * The text that the template writes after the turn at `index`. A short placeholder takes the place of the sampled text, which a template might trim
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
    hint: 'give another template with chat_template: PATH: sampled turns must stay as they are',
    path: 'chat_template',
  });
}
