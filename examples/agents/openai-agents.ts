// An agent of the OpenAI Agents SDK, which speaks the Responses API. Trained unchanged.
//
//   node examples/agents/openai-agents.ts
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { agentEnvironment } from '../../src/index.ts';
import { add, addition, type Sum, trainAgent } from './addition.ts';

const calculator = new Agent({ name: 'Calculator', tools: [tool({ name: 'add', ...add })] });

export const agent = agentEnvironment<Sum>({
  ...addition,
  async run({ example, baseURL, apiKey, model, signal }) {
    const modelProvider = new OpenAIProvider({ baseURL, apiKey });
    const runner = new Runner({ modelProvider, model, tracingDisabled: true });
    const { finalOutput } = await runner.run(calculator, example.question, { signal });
    return { text: String(finalOutput ?? '') };
  },
});

if (import.meta.main) await trainAgent(agent, 'openai-agents');
