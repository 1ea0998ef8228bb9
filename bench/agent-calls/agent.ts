// The agents of the benchmark: one call each, by OpenAI's client.
import OpenAI from 'openai';
import { agentEnvironment } from '../../src/index.ts';

export const agents = agentEnvironment<{ question: string }>({
  async run({ example, baseURL, apiKey, model }) {
    const client = new OpenAI({ baseURL, apiKey });
    const messages = [{ role: 'user' as const, content: example.question }];
    const { choices } = await client.chat.completions.create({ model, messages });
    return { text: choices[0]!.message.content ?? '' };
  },
});
