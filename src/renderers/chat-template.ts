// Chat templates: the Jinja source that comes with a model's tokenizer, applied to messages as transformers does.
import { Template } from '@huggingface/jinja';
import { GradusError, messageOf } from '../errors.ts';
import type { Message, ToolSpec } from '../message.ts';

export interface ChatTemplate {
  /** The text that stands for `messages`. Throws `CHAT_TEMPLATE_FAILED` where the template refuses them. */
  render(messages: readonly Message[], options?: ChatTemplateOptions): string;
}

export interface ChatTemplateOptions {
  /** Whether to end with what begins the assistant's next turn. @default false */
  readonly addGenerationPrompt?: boolean;
  /** Tools to offer. @default none */
  readonly tools?: readonly ToolSpec[];
}

/**
 * Parses a chat template. Blocks take the line feed after them and the blanks before them with them (`trim_blocks`, `lstrip_blocks`).
 * Throws `CHAT_TEMPLATE_MISSING` if there is none, `CHAT_TEMPLATE_FAILED` if it is not valid Jinja.
 * @param tokens what templates write by name: `bos_token`, `eos_token` and so on
 */
export function createChatTemplate(
  template: string | undefined,
  tokens: Readonly<Record<string, string>> = {},
): ChatTemplate {
  if (template === undefined) {
    throw new GradusError('CHAT_TEMPLATE_MISSING', 'the tokenizer has no chat template', {
      hint: 'set chat_template: none to train on plain text, or chat_template: PATH to a Jinja file',
      path: 'chat_template',
    });
  }
  const parsed = attempt('the chat template is not valid', () => new Template(template));
  return {
    render: (messages, { addGenerationPrompt = false, tools } = {}) =>
      attempt('the chat template refuses these messages', () =>
        parsed.render({
          ...tokens,
          messages: messages.map(templateMessage),
          // Null rather than absent, as in transformers: templates tell the two apart.
          tools: tools?.map((tool) => ({ type: 'function', function: tool })) ?? null,
          documents: null,
          // Llama 3.2 would write the day of rendering. A run must be the same on any day: this is what Llama 3.1 writes.
          date_string: '26 Jul 2024',
          add_generation_prompt: addGenerationPrompt,
        }),
      ),
  };
}

/** A message under the names that templates know, which are those of OpenAI's chat API. */
function templateMessage({ role, content, toolCalls, toolCallId }: Message): object {
  return {
    role,
    content,
    ...(toolCalls && {
      tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
        id,
        type: 'function',
        function: { name, arguments: args },
      })),
    }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
  };
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new GradusError('CHAT_TEMPLATE_FAILED', `${what}: ${messageOf(error).replaceAll(/\s+/g, ' ')}`, {
      hint: 'check the order of roles, or set chat_template to a template of your own',
      path: 'chat_template',
      cause: error,
    });
  }
}
