// Applies a chat template, the Jinja source that comes with a model's tokenizer, to messages as transformers does.
import { argumentsJson } from '../call-arguments.ts';
import { GradusError, messageOf } from '../errors.ts';
import type { Message, ToolSpec } from '../message.ts';
import { parseJinja } from './jinja.ts';
import { type PythonNumbers, pythonNumbers } from './python-numbers.ts';

export interface ChatTemplate {
  /** Renders `messages` as text. Throws `CHAT_TEMPLATE_FAILED` if the template refuses them. */
  render(messages: readonly Message[], options?: ChatTemplateOptions): string;
}

export interface ChatTemplateOptions {
  /** Whether to append the beginning of the assistant's next turn. @default false */
  readonly addGenerationPrompt?: boolean;
  /** Tools to offer. @default none */
  readonly tools?: readonly ToolSpec[];
  /** Variables that the template reads besides, such as `enable_thinking`. @default none */
  readonly variables?: TemplateVariables;
}

export type TemplateVariables = Readonly<Record<string, unknown>>;

/**
 * Parses a chat template, with `trim_blocks` and `lstrip_blocks` as in transformers.
 * Throws `CHAT_TEMPLATE_MISSING` if there is none, `CHAT_TEMPLATE_FAILED` if it is not valid Jinja.
 * @param tokens the tokens that templates refer to by name: `bos_token`, `eos_token` and so on
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
  // Jinja reads every line end as a line feed, so trim_blocks removes all of \r\n.
  const source = template.replaceAll(/\r\n?/g, '\n');
  const parsed = attempt('the chat template is not valid', REWRITE, () => parseJinja(source));
  const remedy = 'check the order of roles, or set chat_template to a template of your own';
  return {
    render: (messages, options = {}) =>
      attempt('the chat template refuses these messages', remedy, () => rendered(parsed, tokens, messages, options)),
  };
}

/** The same template with these variables. */
export function templateWith(template: ChatTemplate, variables: TemplateVariables): ChatTemplate {
  return {
    render: (messages, options) =>
      template.render(messages, { ...options, variables: { ...variables, ...options?.variables } }),
  };
}

function rendered(
  template: ReturnType<typeof parseJinja>,
  tokens: Readonly<Record<string, string>>,
  messages: readonly Message[],
  { addGenerationPrompt = false, tools, variables }: ChatTemplateOptions,
): string {
  const offered = tools?.map((tool) => ({ type: 'function', function: tool }));
  const numbers = pythonNumbers(JSON.stringify([messages, offered]));
  const text = template({
    ...tokens,
    date_string: '26 Jul 2024',
    strftime_now: dateOfTemplates,
    ...variables,
    range: rangeWithinBounds,
    messages: messages.map((message) => templateMessage(message, numbers)),
    // Null rather than absent, as in transformers: templates tell the two apart.
    tools: offered ? numbers.marked(JSON.stringify(offered)) : null,
    documents: null,
    add_generation_prompt: addGenerationPrompt,
  });
  if (text.length <= MOST_CHARACTERS) return numbers.restored(text);
  throw new Error(`it makes ${text.length} characters of them, of at most ${MOST_CHARACTERS}`);
}

/**
 * `strftime` of the date that Llama 3.1 has in its prompts. Templates of Llama 3.2, SmolLM3, Mistral and others insert the current one, so that the prompts of
 * a run would change at midnight, and those of a run that goes on with every day.
 */
function dateOfTemplates(format: string): string {
  return format.replaceAll(/%(-?)([a-zA-Z%])/g, (given, short, letter) => {
    const text = dateParts[letter] ?? given;
    return short === '' ? text : text.replace(/^0+(?=.)/, '');
  });
}

const dateParts: Readonly<Record<string, string>> = {
  d: '26',
  m: '07',
  Y: '2024',
  y: '24',
  b: 'Jul',
  h: 'Jul',
  B: 'July',
  a: 'Fri',
  A: 'Friday',
  j: '208',
  w: '5',
  u: '5',
  H: '00',
  I: '12',
  M: '00',
  S: '00',
  p: 'AM',
  F: '2024-07-26',
  D: '07/26/24',
  T: '00:00:00',
  '%': '%',
};

/** Twice what a conversation may have. */
const MOST_CHARACTERS = 2 ** 25;

/** As in the sandbox in which transformers renders. */
const LONGEST_RANGE = 100_000;

/** Jinja's `range`, which makes a list at once. */
function rangeWithinBounds(...bounds: readonly number[]): number[] {
  const [start, stop, step = 1] = bounds.length === 1 ? [0, bounds[0]!] : (bounds as [number, number, number?]);
  if (step === 0) throw new Error('the step of a range() is 0');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > LONGEST_RANGE) throw new Error(`a range() has ${length} numbers, of at most ${LONGEST_RANGE}`);
  return Array.from({ length }, (_, i) => start + i * step);
}

/** Converts a message to the names that templates use, which are those of OpenAI's chat API. */
function templateMessage({ role, content, toolCalls, toolCallId }: Message, numbers: PythonNumbers): object {
  return {
    role,
    content,
    ...(toolCalls && {
      tool_calls: toolCalls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: numbers.marked(argumentsJson(call)) },
      })),
    }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
  };
}

/** How the library names what it lacks: templates that refuse messages (`raise_exception`) do not speak of its types. */
const isMissingPart =
  /\b[A-Z]\w+Value\b|^Unknown (filter|test|variable|operator|node|expression|statement)|not currently supported|filter not available/;

const REWRITE =
  'if Python renders it, write the part that is not available here differently in a copy, and set chat_template to its path';

function attempt<T>(what: string, hint: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const isMissing = isMissingPart.test(messageOf(error));
    const fault = isMissing ? 'the chat template uses a part of Jinja that is not available here' : what;
    throw new GradusError('CHAT_TEMPLATE_FAILED', `${fault}: ${messageOf(error)}`, {
      hint: isMissing ? REWRITE : hint,
      path: 'chat_template',
      cause: error,
    });
  }
}
