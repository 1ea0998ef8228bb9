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

async function trainedInPython(name: string, ...more: string[]): Promise<string> {
  const out = join(folder, name);
  const settings = [
    'max_steps=2',
    'prompts_per_step=2',
    'num_generations=4',
    'eval.every_steps=2',
    'eval.limit=2',
    ...more,
  ];
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
  return readFileSync(join(out, 'metrics.jsonl'), 'utf8');
}

test('python.yaml trains an agent that is no program of ours for two steps, and the same when its process is kept', async () => {
  const lines = await trainedInPython('python');
  const [step] = lines.split('\n').map((line) => JSON.parse(line || '{}'));
  assert.ok(step['agent/calls'] > 1 && step['stop/completed'] === 1, lines);
  const kept = 'environment={command: [python3, kept.py], keep: true, scores: [correct]}';
  assert.equal(await trainedInPython('kept', kept), lines);
});
