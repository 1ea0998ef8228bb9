// An agent around Anthropic's client: messages, with tools. Trained unchanged.
//
//   node examples/agents/anthropic.ts
import Anthropic from '@anthropic-ai/sdk';
import { agentEnvironment, z } from '../../src/index.ts';
import { add, addition, type Sum, trainAgent } from './addition.ts';

const input_schema = z.toJSONSchema(add.parameters) as Anthropic.Tool.InputSchema;
const tools: Anthropic.Tool[] = [{ name: 'add', description: add.description, input_schema }];

/** The result of a call for the model: the sum, or the error. */
function answer({ id, input }: Anthropic.ToolUseBlock): Anthropic.ToolResultBlockParam {
  const { data, error } = add.parameters.safeParse(input);
  const content = data ? String(add.execute(data)) : error.issues[0]!.message;
  return { type: 'tool_result', tool_use_id: id, content, is_error: !data };
}

export const agent = agentEnvironment<Sum>({
  ...addition,
  async run({ example, anthropicBaseURL, apiKey, model, signal }) {
    const client = new Anthropic({ baseURL: anthropicBaseURL, apiKey });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: example.question }];
    for (;;) {
      const { content } = await client.messages.create({ model, messages, tools, max_tokens: 20 }, { signal });
      const calls = content.filter((block) => block.type === 'tool_use');
      if (calls.length === 0)
        return { text: content.map((block) => (block.type === 'text' ? block.text : '')).join('') };
      messages.push({ role: 'assistant', content }, { role: 'user', content: calls.map(answer) });
    }
  },
});

if (import.meta.main) await trainAgent(agent, 'anthropic');
