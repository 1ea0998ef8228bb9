// An agent as people write them, with conversations that branch: it trains with any backend that has a language model.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const library = pathToFileURL(join(import.meta.dirname, '..', 'src', 'index.ts')).href;

/** Writes an agent that continues from its first answer, `branches` times; returns its name in a configuration. */
export function branchingAgent(folder: string, branches: number): string {
  const file = join(folder, `agent-${branches}.ts`);
  writeFileSync(
    file,
    `import { agentEnvironment } from '${library}';
export const agent = agentEnvironment({
  async run({ baseURL, apiKey, model }) {
    const ask = async (messages) => {
      const body = JSON.stringify({ model, messages });
      const response = await fetch(baseURL + '/chat/completions', { method: 'POST', headers: { authorization: 'Bearer ' + apiKey }, body });
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()).choices[0].message;
    };
    const messages = [{ role: 'user', content: 'count' }];
    messages.push(await ask(messages));
    let text = '';
    for (let i = 0; i < ${branches}; i++) text += (await ask([...messages, { role: 'user', content: 'way ' + i }])).content;
    return { text };
  },
  scores: { digits: ({ result }) => result.text.replace(/\\D/g, '').length / Math.max(1, result.text.length) },
  buildDataset: () => ({ train: [{ n: 1 }, { n: 2 }] }),
});
`,
  );
  return `${file}:agent`;
}
