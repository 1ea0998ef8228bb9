// Models that are split among four processes by FSDP2, and among two by DeepSpeed's ZeRO 2 and 3, on the CPU with gloo: steps and checkpoints are
// those of one process. Minutes, and packages of their own: `make test-processes`.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { SplitTrainings } from '../../../test/split-trainings.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { useOraclePython } from '../../../test/trl-python.ts';

useOraclePython();
const venv = join(import.meta.dirname, '../../../.cache/deepspeed-venv');
const skip = !existsSync(join(venv, 'setup-done')) && 'python/deepspeed-setup.sh was not run';
const folder = temporaryFolder('trl-many-processes');
const trainings = new SplitTrainings(folder);
const WHOLE = ['lora=null', 'learning_rate=0.002'];

/** What `accelerate config` writes. */
const fsdp = `compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: 'no'
num_machines: 1
num_processes: 4
use_cpu: true
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
`;
const zero = (stage: number) => `compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
mixed_precision: 'no'
num_machines: 1
num_processes: 2
deepspeed_config:
  zero_stage: ${stage}
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: ${stage === 3}
  zero3_save_16bit_model: false
`;

describe('many processes', { skip }, () => {
  before(async () => {
    writeFileSync(join(folder, 'fsdp.yaml'), fsdp);
    for (const stage of [2, 3]) writeFileSync(join(folder, `zero${stage}.yaml`), zero(stage));
    for (const [name, settings] of [
      ['one', ['max_steps=3']],
      ['one-whole', ['max_steps=3', ...WHOLE]],
    ] as const)
      assert.equal((await trainings.train(name, { settings })).code, 0);
  });

  const four = { processes: 4, accelerate: 'fsdp.yaml', python: trainings.splittingPython };

  test('FSDP2, four processes, adapters', async () => {
    await trainings.split('four', { ...four, settings: ['max_steps=3'] });
    trainings.assertIsSplit('four', 4);
    trainings.assertSameSteps('four', 'one', 3);
    await trainings.assertSameModel('four', 'one', 3);
  });

  test('FSDP2, four processes, a whole model', async () => {
    await trainings.split('four-whole', { ...four, settings: ['max_steps=3', ...WHOLE] });
    trainings.assertIsSplit('four-whole', 4);
    trainings.assertSameSteps('four-whole', 'one-whole', 3);
    await trainings.assertSameModel('four-whole', 'one-whole', 3, WHOLE);
    assert.deepEqual(await trainings.evaluated('four-whole', four.python), await trainings.evaluated('one-whole'));
  });

  for (const stage of [2, 3]) {
    const two = { processes: 2, accelerate: `zero${stage}.yaml`, python: join(venv, 'bin/python') };

    test(`ZeRO ${stage}, adapters, which go on from a checkpoint`, async () => {
      const name = `zero${stage}`;
      await trainings.split(name, { ...two, settings: ['max_steps=2'] });
      await trainings.split(name, { ...two, settings: ['max_steps=3'], resume: true });
      if (stage === 3) trainings.assertIsSplit(name, 2);
      trainings.assertSameSteps(name, 'one', 3);
      await trainings.assertSameModel(name, 'one', 3);
      assert.deepEqual(await trainings.evaluated(name, two.python), await trainings.evaluated('one'));
    });

    test(`ZeRO ${stage}, a whole model, in one piece that one process reads`, async () => {
      const name = `zero${stage}-whole`;
      await trainings.split(name, { ...two, settings: ['max_steps=3', ...WHOLE] });
      if (stage === 3) trainings.assertIsSplit(name, 2);
      trainings.assertSameSteps(name, 'one-whole', 3);
      await trainings.assertSameModel(name, 'one-whole', 3, WHOLE);
      assert.deepEqual(await trainings.evaluated(name, two.python), await trainings.evaluated('one-whole'));
    });
  }
});
