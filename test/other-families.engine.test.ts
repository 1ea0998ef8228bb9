// TRL trains models of families that Gradus has no graphs for: the sampler and the trainer agree, a run trains, and PEFT gets its adapter.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { gradus, onlyObject } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { tinyConfig } from './tiny-model.ts';
import { oraclePython, useOraclePython } from './trl-python.ts';

useOraclePython();

const folder = temporaryFolder('families');
const config = tinyConfig(folder);
const tokenizer = config.model as string;
const { vocab_size } = JSON.parse(readFileSync(join(tokenizer, 'config.json'), 'utf8')) as { vocab_size: number };
const models = join(folder, 'models');
const oracle = join(import.meta.dirname, '..', 'python', 'oracles', 'other_families.py');
execFileSync(oraclePython, [oracle, models, String(vocab_size)], { stdio: 'pipe' });

async function run(...args: string[]) {
  const { code, stdout, stderr } = await gradus([...args, '--json'], { cwd: folder });
  assert.equal(code, 0, stderr);
  return onlyObject(stdout);
}

for (const family of readdirSync(models)) {
  test(family, async () => {
    const model = join(models, family);
    cpSync(join(tokenizer, 'tokenizer.json'), join(model, 'tokenizer.json'));
    // Without a class, transformers takes the family's own, which adds tokens.
    const roles = JSON.parse(readFileSync(join(tokenizer, 'tokenizer_config.json'), 'utf8'));
    const named = JSON.stringify({ ...roles, tokenizer_class: 'PreTrainedTokenizerFast' });
    writeFileSync(join(model, 'tokenizer_config.json'), named);
    const file = `${family}.yaml`;
    const settings = { lora: { r: 4 }, eval: null, max_steps: 2, save: { best: null } };
    writeFileSync(join(folder, file), stringify({ ...config, ...settings, model, backend: 'trl' }));
    const { checks } = (await run('preflight', file)) as { checks: { id: string; ok: boolean; detail: string }[] };
    const gap = checks.find(({ id }) => id === 'logprob_gap')!;
    assert.ok(Number(/at most (\S+) nats/.exec(gap.detail)![1]) <= 1e-3, gap.detail);
    const { run: record } = (await run('train', file, '--no-preflight')) as { run: { status: string } };
    assert.equal(record.status, 'completed');
    await run('export', family, '--format', 'peft', '--out', `${family}-adapter`);
    const merged = await gradus(['export', family, '--out', `${family}-merged`, '--json'], { cwd: folder });
    const { error } = onlyObject(merged.stdout) as { error: { code: string } };
    assert.deepEqual([merged.code, error.code], [2, 'EXPORT_IMPOSSIBLE']);
  });
}
