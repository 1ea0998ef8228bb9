// Trains an example agent for two steps as a program, and checks what every one of them must show.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const agentExamples = join(import.meta.dirname, '..', 'examples', 'agents');

/** Returns its metrics, as they are written. */
export async function trainedAgent(name: string, out: string): Promise<string> {
  const program = [
    join(agentExamples, `${name}.ts`),
    '--steps',
    '2',
    '--prompts',
    '5',
    '--eval-limit',
    '4',
    '--out',
    out,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, program);
  assert.match(stdout, /^held out: .*\nstep 1 .*\nstep 2 .*\nheld out: .*\nright before: [\d.]+, after: [\d.]+\n$/);
  const metrics = readFileSync(join(out, 'metrics.jsonl'), 'utf8');
  const [step] = metrics.split('\n').map((line) => JSON.parse(line || '{}'));
  assert.ok(step['agent/calls'] > 1 && step.grad_norm > 0, metrics);
  assert.deepEqual([step['stop/completed'], step['agent/prefix_breaks']], [1, 0]);
  return metrics;
}
