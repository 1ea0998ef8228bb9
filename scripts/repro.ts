// A seed is a promise: trains twice, in two processes, and compares what was written byte for byte. `make repro`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** What is trained twice: a table of logits, and a transformer. */
const trainings: Readonly<Record<string, readonly string[]>> = {
  'configs/toy-grpo.yaml': [],
  'demo/demo.yaml': ['--set', 'max_steps=20', '--set', 'eval.limit=50', '--set', 'sample_every_steps=20'],
};

const folder = mkdtempSync(join(tmpdir(), 'gradus-repro-'));
try {
  for (const [config, settings] of Object.entries(trainings)) {
    const [first, second] = ['first', 'second'].map((name) => {
      const out = join(folder, config, name);
      const args = ['train', join(root, config), ...settings, '--out', out, '--no-preflight', '--json'];
      execFileSync(process.execPath, [join(root, 'bin', 'gradus'), ...args], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      return readFileSync(join(out, 'metrics.jsonl'));
    });
    const same = first!.equals(second!);
    console.log(`${config}: ${same ? 'the same' : 'DIFFERENT'} metrics, ${first!.length} bytes`);
    if (!same) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
