// Line ends of Windows, as editors there and git's autocrlf write them: in what a training reads, and in what it has written.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRun, train } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('line-ends');
const rows = Array.from({ length: 12 }, (_, i) => ({ question: `${10 + i}+21=`, answer: String(31 + i) }));
const texts = {
  'config.yaml': `# sums
backend: native
model: ${join(import.meta.dirname, '..', 'demo', 'model')}
chat_template: none
dataset: rows.jsonl
eval_fraction: 0.25
reward_fn: reward.ts:exact
prompts_per_step: 2
num_generations: 4
max_completion_length: 4
max_steps: 2
lora: null
system_prompt: |
  0
  1
eval: { every_steps: null, limit: 2 }
save: { every_steps: 1 }
native: { reward_workers: 0 }
`,
  'rows.jsonl': rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  'rows.csv': `question,answer\n${rows.map(({ question, answer }) => `${question},${answer}\n`).join('')}`,
  'reward.ts': `export function exact({ completions, columns }) {
  return completions.map((text, i) => Number(text === columns.answer[i]));
}
`,
};
const written = (run: string) => readFileSync(join(folder, run, 'metrics.jsonl'), 'utf8');
const crossed = (text: string) => text.replaceAll('\n', '\r\n');

async function trained(run: string, settings: readonly string[], resume = false): Promise<void> {
  const options = { out: join(folder, run), preflight: false, settings, resume };
  await train(join(folder, 'config.yaml'), options);
}

test('a configuration, rows and rewards are read as they are with line feeds, and a run whose files were converted goes on', async () => {
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  await trained('plain', ['max_steps=3']);

  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), crossed(text));
  await trained('rows', ['max_steps=3']);
  assert.equal(written('rows'), written('plain'));
  await trained('table', ['max_steps=3', 'dataset=rows.csv']);
  assert.equal(written('table'), written('plain'));

  await trained('converted', []);
  for (const entry of readdirSync(join(folder, 'converted'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // The files of the model belong to its checksums.
    if (!entry.isFile() || (/checkpoints.step/.test(path) && entry.name !== 'state.json')) continue;
    writeFileSync(path, crossed(readFileSync(path, 'utf8')));
  }
  assert.equal(readRun(join(folder, 'converted')).status, 'completed');
  await trained('converted', ['max_steps=3'], true);
  assert.equal(written('converted').replaceAll('\r', ''), written('plain'));
});
