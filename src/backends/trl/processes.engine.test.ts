// Models that are split among processes by accelerate's FSDP2: steps, checkpoints and resuming are those of one process. On the CPU with gloo;
// python/oracles/split_on_cpu lets accelerate do there what it does on GPUs.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { most } from '../../../test/difference.ts';
import { gradus, onlyObject } from '../../../test/gradus.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { tinyConfig } from '../../../test/tiny-model.ts';
import { oraclePython, useOraclePython } from '../../../test/trl-python.ts';
import { loadConfigFile } from '../../config/load.ts';
import { readMetrics } from '../../runs/read-run.ts';
import { backend as nativeBackend } from '../native/native-backend.ts';

useOraclePython();
const folder = temporaryFolder('trl-processes');
const splitting = join(import.meta.dirname, '..', '..', '..', 'python', 'oracles', 'split_on_cpu');

/** What `accelerate config` writes for FSDP2, all at its defaults. */
const fsdp = `compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: 'no'
num_machines: 1
num_processes: 2
use_cpu: true
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: true
`;

before(() => {
  const { eval: _, save: __, sample_every_steps: ___, ...tiny } = tinyConfig(folder);
  const config = {
    ...tiny,
    backend: 'trl',
    lora: { r: 4 },
    eval: null,
    sample_every_steps: null,
    save: { best: null },
  };
  writeFileSync(join(folder, 'tiny.yaml'), JSON.stringify(config));
  writeFileSync(join(folder, 'fsdp.yaml'), fsdp);
  writeFileSync(
    join(folder, 'python'),
    `#!/bin/sh\nPYTHONPATH="$PYTHONPATH:${splitting}" exec "${oraclePython}" "$@"\n`,
  );
  chmodSync(join(folder, 'python'), 0o755);
});

async function train(name: string, settings: readonly string[], env: Record<string, string> = {}) {
  const set = settings.flatMap((setting) => ['--set', setting]);
  const args = ['train', 'tiny.yaml', '--no-preflight', '--json', '--name', name, ...set];
  const { code, stdout } = await gradus(args, { cwd: folder, env });
  return { code, answer: onlyObject(stdout) as { error?: { code: string; message: string } } };
}
const split = (name: string, ...settings: string[]) =>
  train(name, ['trl.num_processes=2', 'trl.accelerate_config=fsdp.yaml', ...settings], {
    GRADUS_TRL_PYTHON: join(folder, 'python'),
  });

const checkpoint = (name: string, step: number) => join(folder, 'runs', name, 'checkpoints', `step_00000${step}`);

/** Each process holds half of the model. */
function assertIsSplit(name: string): void {
  const log = readFileSync(join(folder, 'runs', name, 'logs', 'trl.log'), 'utf8');
  const shares = [...log.matchAll(/process (\d) holds (\d+) of (\d+) parameters$/gm)];
  assert.deepEqual(new Set(shares.map(([, process]) => process)), new Set(['0', '1']));
  for (const [line, , part, whole] of shares) {
    assert.ok(Math.abs(Number(part) / Number(whole) - 0.5) < 0.05, line);
  }
}

/** Log-probabilities of a text by the native engine, in this process, under a checkpoint, or as training began. */
async function logprobs(directory?: string, settings: readonly string[] = []): Promise<readonly number[]> {
  const { config } = loadConfigFile(join(folder, 'tiny.yaml'), ['backend=native', ...settings]);
  const { model } = await nativeBackend.open(config);
  try {
    if (directory !== undefined) await model.load(directory, { weightsOnly: true });
    const [text] = await model.policy().textLogprobs!([[1, 5, 13, 6, 20, 7, 9, 33, 48, 16]]);
    return text!.logprobs;
  } finally {
    model.dispose();
  }
}

test('split in two, adapters learn what they learn in one process, and continue from a checkpoint', async () => {
  assert.equal((await train('one', ['max_steps=4'])).code, 0);
  const begun = await split('two', 'max_steps=2');
  assert.equal(begun.code, 0, JSON.stringify(begun.answer.error));
  assertIsSplit('two');
  const resumed = await gradus(
    [
      ...['train', 'tiny.yaml', '--no-preflight', '--json', '--name', 'two', '--resume', '--set', 'max_steps=4'],
      ...['--set', 'trl.num_processes=2', '--set', 'trl.accelerate_config=fsdp.yaml'],
    ],
    { cwd: folder, env: { GRADUS_TRL_PYTHON: join(folder, 'python') } },
  );
  assert.equal(resumed.code, 0, resumed.stderr);
  const [one, two] = ['one', 'two'].map((name) => readMetrics(join(folder, 'runs', name)));
  assert.equal(two!.length, 4);
  for (const name of ['reward', 'loss', 'grad_norm', 'entropy']) {
    for (const [i, row] of two!.entries()) {
      const [value, expected] = [row[name] as number, one![i]![name] as number];
      assert.ok(Math.abs(value - expected) < 1e-4, `${name} of step ${i + 1}: ${value} and ${expected}`);
    }
  }
  const [expected, actual] = [await logprobs(checkpoint('one', 4)), await logprobs(checkpoint('two', 4))];
  assert.ok(most(actual.map((logprob, i) => Math.abs(logprob - expected[i]!))) < 1e-4, `${actual} and ${expected}`);
});

test('split in two, a whole model is saved in one piece that one process reads', async () => {
  const { code, answer } = await split('full', 'max_steps=1', 'lora=null');
  assert.equal(code, 0, JSON.stringify(answer.error));
  assertIsSplit('full');
  const before = await logprobs();
  const after = await logprobs(checkpoint('full', 1), ['lora=null']);
  assert.ok(after.every(Number.isFinite) && most(after.map((logprob, i) => Math.abs(logprob - before[i]!))) > 1e-3);
});

test('it is an error if accelerate would not split the model, instead of a run that needs more memory', async () => {
  const { code, answer } = await train('whole', [
    'trl.num_processes=2',
    'trl.accelerate_config=fsdp.yaml',
    'max_steps=1',
  ]);
  assert.notEqual(code, 0);
  assert.equal(answer.error?.code, 'CONFIG_CONFLICT');
  assert.match(answer.error!.message, /asks for FSDP, and accelerate does not split models on this machine/);
});
