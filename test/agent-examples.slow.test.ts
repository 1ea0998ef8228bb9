// The example agents, as programs: two steps each. Whatever library they are written with, the same is sampled and trained on.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gradus, onlyObject } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('agent-examples');
const examples = join(import.meta.dirname, '..', 'examples', 'agents');

const agents = ['ai-sdk', 'openai-agents', 'langgraph', 'anthropic', 'openai'];

let first: string | undefined;
for (const name of agents) {
  test(`${name}.ts trains for two steps, with the numbers of the others`, async () => {
    const out = join(folder, name);
    const program = [join(examples, `${name}.ts`), '--steps', '2', '--eval-limit', '20', '--out', out];
    const { stdout } = await promisify(execFile)(process.execPath, program);
    assert.match(stdout, /^held out: .*\nstep 1 .*\nstep 2 .*\nheld out: .*\nright before: [\d.]+, after: [\d.]+\n$/);
    const metrics = readFileSync(join(out, 'metrics.jsonl'), 'utf8');
    const [step] = metrics.split('\n').map((line) => JSON.parse(line || '{}'));
    assert.ok(step['agent/calls'] > 1 && step.grad_norm > 0, metrics);
    assert.equal(step['stop/completed'], 1);
    assert.equal(step['agent/prefix_breaks'], 0);
    first ??= metrics;
    assert.equal(metrics, first);
  });
}

test('python.yaml trains an agent that is no program of ours for two steps', async () => {
  const out = join(folder, 'python');
  const settings = ['max_steps=2', 'prompts_per_step=2', 'eval.every_steps=2', 'eval.limit=2'];
  const args = ['train', join(examples, 'python.yaml'), '--out', out, ...settings.flatMap((one) => ['--set', one])];
  const { code, stdout } = await gradus([...args, '--json'], { cwd: folder });
  assert.equal(code, 0, stdout);
  const { metrics } = onlyObject(stdout) as { metrics: Record<string, number> };
  assert.equal(metrics['stop/error'] ?? 0, 0);
  const [step] = readFileSync(join(out, 'metrics.jsonl'), 'utf8')
    .split('\n')
    .map((line) => JSON.parse(line || '{}'));
  assert.ok(step['agent/calls'] > 1 && step['stop/completed'] === 1, JSON.stringify(step));
});
