// Flags of benchmarks: a name or number that nothing can be measured with is an error that says what there is, before anything is measured.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const main = join(import.meta.dirname, '..', 'bench', 'main.ts');

const wrong: Readonly<Record<string, RegExp>> = {
  'gpu --models qwen': /--models: there is no 'qwen'; there are smollm2-135m, qwen2\.5-0\.5b, qwen2\.5-1\.5b/,
  'gpu --engines webgpu,cuda': /--engines: there is no 'cuda'; there are webgpu, cpu, trl/,
  'gpu --cases a,z --dry-run': /--cases: there is no 'z'; there are a, b, c, d/,
  'gpu --models qwen2.5-0.5b --cases b': /--cases: the models have no case b \(qwen2\.5-0\.5b: a\)/,
  'gpu --row-seconds soon': /--row-seconds: 'soon' is no whole number from 1/,
  'gpu --engines trl': /nothing can be measured here: trl: no \/nowhere: make it with/,
  'learning --tasks sums': /--tasks: there is no 'sums'; there are sums-tiny/,
  'machine all': /Unexpected argument 'all'/,
};

const env = { ...process.env, GRADUS_TRL_PYTHON: '/nowhere' };

for (const [flags, message] of Object.entries(wrong)) {
  test(`bench ${flags}`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...flags.split(' ')], {
      encoding: 'utf8',
      env,
    });
    assert.match(stderr, new RegExp(`^error: ${message.source}.*; see node bench/main\\.ts \\w+ --help\n$`));
    assert.equal(stdout, '');
    assert.equal(status, 2);
  });
}
