// The example agents, as programs: two steps each. Whatever library they are written with, the same is sampled and trained on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { agentExamples, trainedAgent } from './agent-example.ts';
import { gradus, onlyObject } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('agent-examples');
const agents = ['ai-sdk', 'openai-agents', 'langgraph', 'anthropic', 'openai'];

let first: string | undefined;
for (const name of agents) {
  test(`${name}.ts trains for two steps, with the numbers of the others`, async () => {
    const metrics = await trainedAgent(name, join(folder, name));
    first ??= metrics;
    assert.equal(metrics, first);
  });
}

test('python.yaml trains an agent that is no program of ours for two steps', async () => {
  const out = join(folder, 'python');
  const settings = ['max_steps=2', 'prompts_per_step=2', 'eval.every_steps=2', 'eval.limit=2'];
  const args = [
    'train',
    join(agentExamples, 'python.yaml'),
    '--out',
    out,
    ...settings.flatMap((one) => ['--set', one]),
  ];
  const { code, stdout } = await gradus([...args, '--json'], { cwd: folder });
  assert.equal(code, 0, stdout);
  const { metrics } = onlyObject(stdout) as { metrics: Record<string, number> };
  assert.equal(metrics['stop/error'] ?? 0, 0);
  const [step] = readFileSync(join(out, 'metrics.jsonl'), 'utf8')
    .split('\n')
    .map((line) => JSON.parse(line || '{}'));
  assert.ok(step['agent/calls'] > 1 && step['stop/completed'] === 1, JSON.stringify(step));
});
