// An agent of the Vercel AI SDK, trained unchanged: `generateText` with a tool. All it knows about training is its model's address.
//
//   node examples/agents/ai-sdk.ts
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, tool } from 'ai';
import { agentEnvironment } from '../../src/index.ts';
import { add, addition, type Sum, trainAgent } from './addition.ts';

const { description, parameters, execute } = add;

export const agent = agentEnvironment<Sum>({
  ...addition,
  async run({ example, baseURL, apiKey, model, signal }) {
    const provider = createOpenAI({ baseURL, apiKey });
    const { text } = await generateText({
      model: provider(model),
      prompt: example.question,
      tools: { add: tool({ description, inputSchema: parameters, execute }) },
      stopWhen: isStepCount(3),
      abortSignal: signal,
    });
    return { text };
  },
});

if (import.meta.main) await trainAgent(agent, 'ai-sdk');
