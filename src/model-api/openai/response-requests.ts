// The requests of OpenAI's responses, and the chat completions that answer them. Nothing is kept between requests: each brings the whole conversation.
// https://platform.openai.com/docs/api-reference/responses/create
import { z } from 'zod';
import {
  type ChatRequest,
  chosenWays,
  plainFormats,
  reasoningEffort,
  schemaFormat,
  shared,
  textOf,
  toolArguments,
  unset,
  verbosity,
  WAYS,
  without,
} from './requests.ts';

const part = z.object({ type: z.enum(['input_text', 'output_text']), text: z.string() });
const text = textOf(part, 'expected a text, or parts of type input_text and output_text');

// Clients send back the items that they received, with the fields that their libraries add.
const message = z.object({
  type: z.literal('message').optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: text,
});
const call = z.object({
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: toolArguments,
});
const callOutput = z.object({ type: z.literal('function_call_output'), call_id: z.string(), output: text });
const reference = z.object({ type: z.literal('item_reference') }).transform((_, context) => {
  context.addIssue({
    code: 'custom',
    message: 'this server keeps no items: send them, as clients do with store: false',
  });
  return z.NEVER;
});
const item = z.discriminatedUnion('type', [message, call, callOutput, reference], {
  error: 'expected a message, a function_call or a function_call_output',
});

const tool = z.strictObject({
  type: z.literal('function', { error: 'this server knows only functions' }),
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

const chosenTool = z.strictObject({ type: z.literal('function'), name: z.string() });

const textFormat = z.discriminatedUnion('type', [
  ...plainFormats,
  z.strictObject({ type: z.literal('json_schema'), ...schemaFormat }),
]);

const LOGPROBS = 'message.output_text.logprobs';
const KEPT = 'this server keeps no responses: send the whole conversation as input';

export const responsesRequest = z
  .strictObject({
    ...shared,
    input: z.preprocess(
      (given) => (typeof given === 'string' ? [{ role: 'user', content: given }] : given),
      z.array(item, { error: 'expected a text or a list of items' }).nonempty(),
    ),
    instructions: z.string().nullish(),
    max_output_tokens: z.int().min(1).nullish(),
    tools: z.array(tool).nullish(),
    tool_choice: z.union([chosenWays, chosenTool], { error: WAYS }).nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    text: z.strictObject({ format: textFormat.nullish(), verbosity }).nullish(),
    reasoning: z.strictObject({ effort: reasoningEffort.nullish(), summary: unset }).nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    // Reasoning is not separated from the answer, so there is none to include.
    include: z.array(z.enum([LOGPROBS, 'reasoning.encrypted_content'])).nullish(),
    stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
    truncation: without('disabled'),
    background: without(false),
    max_tool_calls: unset,
    previous_response_id: z.null({ error: KEPT }).optional(),
    conversation: z.null({ error: KEPT }).optional(),
  })
  .refine(({ include, top_logprobs }) => include?.includes(LOGPROBS) || !top_logprobs, {
    error: `it needs include: ["${LOGPROBS}"]`,
    path: ['top_logprobs'],
  });
export type ResponsesRequest = z.output<typeof responsesRequest>;

/** The request of a chat completion that asks for the same. */
export function chatRequestOf(request: ResponsesRequest): ChatRequest {
  const { model, seed, temperature, top_p, top_k, min_p, tool_choice, max_output_tokens, include, top_logprobs } =
    request;
  return {
    ...{ model, seed, temperature, top_p, top_k, min_p, top_logprobs },
    tool_choice:
      tool_choice instanceof Object ? { type: 'function', function: { name: tool_choice.name } } : tool_choice,
    messages: messagesOf(request) as ChatRequest['messages'],
    response_format: formatOf(request),
    tools: request.tools?.map(({ type, ...described }) => ({ type, function: described })),
    max_completion_tokens: max_output_tokens,
    reasoning_effort: request.reasoning?.effort,
    parallel_tool_calls: request.parallel_tool_calls,
    logprobs: include?.includes(LOGPROBS) ?? false,
    stream_options: { include_usage: true },
  };
}

function formatOf({ text }: ResponsesRequest): ChatRequest['response_format'] {
  const { format } = text ?? {};
  if (format?.type !== 'json_schema') return format;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}

type ChatMessage = ChatRequest['messages'][number];

/** Calls belong to the assistant's message before them. */
function messagesOf({ input, instructions }: ResponsesRequest): ChatMessage[] {
  const messages: ChatMessage[] = instructions ? [{ role: 'system', content: instructions }] : [];
  for (const each of input) {
    if ('role' in each) messages.push({ role: each.role, content: each.content });
    else if ('output' in each) messages.push({ role: 'tool', content: each.output, tool_call_id: each.call_id });
    else {
      const { call_id: id, name, arguments: given } = each;
      const last = messages.at(-1);
      const { content, tool_calls = [] } = last?.role === 'assistant' ? (messages.pop() as typeof last) : {};
      const calls = [...(tool_calls ?? []), { id, type: 'function' as const, function: { name, arguments: given } }];
      messages.push({ role: 'assistant', content, tool_calls: calls });
    }
  }
  return messages;
}
