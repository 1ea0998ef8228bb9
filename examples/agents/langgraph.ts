// An agent of LangGraph.js: a graph of a model and its tools. Trained unchanged.
//
//   node examples/agents/langgraph.ts
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { agentEnvironment } from '../../src/index.ts';
import { add, addition, type Sum, trainAgent } from './addition.ts';

const { description, parameters, execute } = add;
const tools = [tool((given) => String(execute(given)), { name: 'add', description, schema: parameters })];

export const agent = agentEnvironment<Sum>({
  ...addition,
  async run({ example, baseURL, apiKey, model, signal }) {
    const llm = new ChatOpenAI({ model, apiKey, configuration: { baseURL } });
    const graph = createReactAgent({ llm, tools });
    const { messages } = await graph.invoke({ messages: [{ role: 'user', content: example.question }] }, { signal });
    return { text: messages.at(-1)!.text };
  },
});

if (import.meta.main) await trainAgent(agent, 'langgraph');
