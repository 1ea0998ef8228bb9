// An agent with backend trl: its calls are sampled by the worker, and its rollouts train.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { writeTinyChatModel } from '../../test/tiny-model.ts';
import { useOraclePython } from '../../test/trl-python.ts';
import { train } from '../launch/train.ts';

useOraclePython();
const folder = temporaryFolder('agents-trl');
const library = pathToFileURL(join(import.meta.dirname, '..', 'index.ts')).href;

/** An agent that goes on from its first answer, `branches` times. */
function agentFile(branches: number): string {
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

async function trained(branches: number): Promise<string> {
  const out = join(folder, `run-${branches}`);
  const sizes = { prompts_per_step: 2, num_generations: 2, max_completion_length: 6, max_turns: 9, max_steps: 2 };
  const model = writeTinyChatModel(join(folder, 'model'));
  const config = { backend: 'trl' as const, learning_rate: 0.02, lora: null, eval: null, ...sizes };
  await train({ ...config, model, environment: agentFile(branches) }, { out, preflight: false });
  return readFileSync(join(out, 'metrics.jsonl'), 'utf8');
}

test('a conversation of an agent trains under TRL, and so do more branches than a step has completions', async () => {
  for (const branches of [1, 3]) {
    const lines = (await trained(branches)).trim().split('\n');
    assert.equal(lines.length, 2);
    const { 'agent/calls': calls, 'agent/branches': made, grad_norm } = JSON.parse(lines[0]!);
    assert.deepEqual([calls, made], [1 + branches, branches]);
    assert.ok(grad_norm > 0);
  }
});
