// Trains the toy and the demo and prints their results as a Markdown table, for the summary of a push. `make summary`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrainResult } from '../src/index.ts';

const root = join(import.meta.dirname, '..');
const configs = ['configs/toy-grpo.yaml', 'demo/demo.yaml'];

const folder = mkdtempSync(join(tmpdir(), 'gradus-summary-'));
try {
  console.log(
    '| config | backend | steps | mean reward | success | before | lift | verdict |\n|---|---|---|---|---|---|---|---|',
  );
  for (const config of configs) {
    const args = ['train', join(root, config), '--out', join(folder, config), '--no-preflight', '--json'];
    const output = execFileSync(process.execPath, [join(root, 'bin', 'gradus'), ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { run, metrics, verdict } = JSON.parse(String(output)) as TrainResult;
    const number = (name: string) => metrics[name]?.toFixed(3) ?? '–';
    const numbers = ['mean_reward', 'final_success_rate', 'random_baseline', 'lift'].map(number);
    console.log(`| ${[config, run.backend, run.step, ...numbers, verdict.learning].join(' | ')} |`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
