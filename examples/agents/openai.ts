// Forty lines around OpenAI's client: chat completions, with tools. Trained unchanged.
//
//   node examples/agents/openai.ts
import OpenAI from 'openai';
import { agentEnvironment, z } from '../../src/index.ts';
import { add, addition, type Sum, trainAgent } from './addition.ts';

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: { name: 'add', description: add.description, parameters: z.toJSONSchema(add.parameters) },
  },
];

/** The result of a call for the model: the sum, or the error. */
function answer(given: string): string {
  const { data, error } = add.parameters.safeParse(JSON.parse(given));
  return data ? String(add.execute(data)) : `error: ${error.issues[0]!.message}`;
}

export const agent = agentEnvironment<Sum>({
  ...addition,
  async run({ example, baseURL, apiKey, model, signal }) {
    const client = new OpenAI({ baseURL, apiKey });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: example.question }];
    for (;;) {
      const { choices } = await client.chat.completions.create({ model, messages, tools }, { signal });
      const { message } = choices[0]!;
      if (!message.tool_calls) return { text: message.content ?? '' };
      messages.push(message);
      for (const call of message.tool_calls) {
        if (call.type !== 'function') throw new Error(`no such call: ${call.type}`);
        messages.push({ role: 'tool', tool_call_id: call.id, content: answer(call.function.arguments) });
      }
    }
  },
});

if (import.meta.main) await trainAgent(agent, 'openai');
