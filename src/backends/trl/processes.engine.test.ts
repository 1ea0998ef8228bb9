// Models that are split among processes by accelerate's FSDP2: steps, checkpoints and resuming are those of one process. On the CPU with gloo;
// python/oracles/split_on_cpu lets accelerate do there what it does on GPUs.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { SplitTrainings } from '../../../test/split-trainings.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { useOraclePython } from '../../../test/trl-python.ts';

useOraclePython();
const folder = temporaryFolder('trl-processes');
const trainings = new SplitTrainings(folder);

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
  writeFileSync(join(folder, 'fsdp.yaml'), fsdp);
});
const two = { processes: 2, accelerate: 'fsdp.yaml', python: trainings.splittingPython };

test('split in two, adapters learn what they learn in one process, and continue from a checkpoint', async () => {
  assert.equal((await trainings.train('one', { settings: ['max_steps=4'] })).code, 0);
  await trainings.split('two', { ...two, settings: ['max_steps=2'] });
  trainings.assertIsSplit('two', 2);
  await trainings.split('two', { ...two, settings: ['max_steps=4'], resume: true });
  trainings.assertSameSteps('two', 'one', 4);
  await trainings.assertSameModel('two', 'one', 4);
});

test('split in two, a whole model is saved in one piece that one process reads', async () => {
  const settings = ['max_steps=1', 'lora=null'];
  assert.equal((await trainings.train('whole', { settings })).code, 0);
  await trainings.split('full', { ...two, settings });
  trainings.assertIsSplit('full', 2);
  await trainings.assertSameModel('full', 'whole', 1, ['lora=null']);
});

test('it is an error if accelerate would not split the model, instead of a run that needs more memory', async () => {
  const settings = ['trl.num_processes=2', 'trl.accelerate_config=fsdp.yaml', 'max_steps=1'];
  const { code, answer } = await trainings.train('left-whole', { settings });
  assert.notEqual(code, 0);
  assert.equal(answer.error?.code, 'CONFIG_CONFLICT');
  assert.match(answer.error!.message, /asks for FSDP, and accelerate does not split models on this machine/);
});
