// An agent of Mastra. Trained unchanged. Mastra is large and so not a dependency of this repository: scripts/fetch-mastra.sh installs it beside this file.
//
//   scripts/fetch-mastra.sh && node examples/agents/mastra.ts
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { agentEnvironment } from '../../src/index.ts';
import { add, addition, type Sum, trainAgent } from './addition.ts';

const { description, parameters, execute } = add;
const tools = {
  add: createTool({ id: 'add', description, inputSchema: parameters, execute: async (given) => execute(given) }),
};

export const agent = agentEnvironment<Sum>({
  ...addition,
  async run({ example, baseURL, apiKey, model, signal }) {
    const calculator = new Agent({
      id: 'calculator',
      name: 'Calculator',
      instructions: '',
      model: { providerId: 'gradus', modelId: model, url: baseURL, apiKey },
      tools,
    });
    const { text } = await calculator.generate(example.question, { maxSteps: 3, abortSignal: signal });
    return { text };
  },
});

if (import.meta.main) await trainAgent(agent, 'mastra');
