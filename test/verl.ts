// Asks verl's own code, in the environment that python/verl-setup.sh makes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Questions and answers as python/oracles/ask_verl.py describes them. `reward.py` finds this checkout's `gradus`. */
export function askVerl<A>(question: object, environment: Readonly<Record<string, string>> = {}): A {
  const answer = execFileSync(join(root, '.cache/verl-venv/bin/python'), [join(root, 'python/oracles/ask_verl.py')], {
    input: JSON.stringify(question),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment, GRADUS: `'${process.execPath}' '${join(root, 'bin/gradus')}'` },
  });
  // Its libraries print before.
  return JSON.parse(answer.trimEnd().split('\n').at(-1)!) as A;
}

/** Words of a `run.sh` with which verl trains float32 models on the CPU, by the sampler of python/oracles. */
export const trainingOnCpu = {
  'trainer.device': 'cpu',
  'reward.num_workers': 1,
  'transfer_queue.backend.SimpleStorage.num_data_storage_units': 1,
  'actor_rollout_ref.rollout.name': 'cpu',
  'actor_rollout_ref.model.use_remove_padding': false,
  '++actor_rollout_ref.model.override_config.attn_implementation': 'eager',
  'actor_rollout_ref.actor.strategy': 'fsdp2',
  'actor_rollout_ref.actor.fsdp_config.model_dtype': 'fp32',
  '++actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype': 'fp32',
} as const;
