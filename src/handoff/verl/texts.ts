// What a hand-off to verl says: the script that starts verl, and how to run it.
import { isAbsolute } from 'node:path';
import { shellWord } from '../../common/shell-word.ts';
import type { Config } from '../../config/schema.ts';
import type { Override } from '../folder/handoff-row.ts';
import type { HandoffFacts } from '../folder/handoff-target.ts';
import { hydraOverride } from './hydra-override.ts';

/** The release of verl whose configuration, data format and reward functions the tests try. */
export const VERL_VERSION = '0.9.1';

/** Paths within the folder, which verl's workers need in full. */
function pathOverrides({ evaluates, keepsRollouts }: ScriptParts): Record<string, string> {
  return {
    'data.train_files': 'train.parquet',
    // verl opens this file even if it never evaluates.
    'data.val_files': evaluates ? 'eval.parquet' : 'train.parquet',
    'reward.custom_reward_function.path': 'reward.py',
    'reward.reward_manager.module.path': 'reward_manager.py',
    'trainer.default_local_dir': 'checkpoints',
    ...(keepsRollouts && { 'trainer.rollout_data_dir': 'rollouts' }),
  };
}

/** The names of the reward function and the reward manager in the hand-off's Python files. */
export const rewardOverrides: Readonly<Record<string, string>> = {
  'reward.custom_reward_function.name': 'compute_score',
  'reward.reward_manager.source': 'importlib',
  'reward.reward_manager.name': 'GradusRewardManager',
};

export interface ScriptParts {
  readonly overrides: Readonly<Record<string, Override>>;
  readonly evaluates: boolean;
  /** Whether verl saves the completions that it samples. */
  readonly keepsRollouts: boolean;
}

/** A script for bash that starts verl. Its arguments are further overrides. */
export function runScript(parts: ScriptParts): string {
  const lines = Object.entries(parts.overrides).map(([key, value]) => `  ${shellWord(hydraOverride(key, value))}`);
  const paths = Object.entries(pathOverrides(parts)).map(([key, name]) => `  "${key}='$here/${name}'"`);
  return `#!/usr/bin/env bash
# Trains with verl ${VERL_VERSION}: GPUS=8 NODES=1 ./run.sh [KEY=VALUE of verl's configuration ...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
overrides=(
${lines.join('\n')}
${paths.join('\n')}
  trainer.n_gpus_per_node="\${GPUS:-8}"
  trainer.nnodes="\${NODES:-1}"
)
exec "\${PYTHON:-python3}" -m verl.trainer.main_ppo "\${overrides[@]}" "$@"
`;
}

/** Writes the last checkpoint as a folder of transformers. */
export function mergeCommand(steps: number): string {
  return `python3 -m verl.model_merger merge --backend fsdp --local_dir checkpoints/global_step_${steps}/actor --target_dir trained`;
}

/** The changes to a configuration that evaluate what verl's merger writes to `trained` in the folder. */
export function trainedSettings({ lora }: Config, folder: string): string[] {
  const model = `model=${folder}/trained`;
  return lora ? [model, `adapter=${folder}/trained/lora_adapter`] : [model];
}

/** How to run what is in the folder, and where verl differs. */
export function readme({ config, version, train, eval: heldOut, steps, differences }: HandoffFacts): string {
  const { model, prompts_per_step, num_generations } = config;
  const completions = prompts_per_step * num_generations;
  return `# Training with verl

Written by Gradus ${version} for verl ${VERL_VERSION}: ${steps} steps of ${completions} completions with ${model}, on ${train} problems; ${heldOut} are held out.

| file | what |
|---|---|
| \`run.sh\` | starts verl; every setting of the configuration under verl's name |
| \`train.parquet\`, \`eval.parquet\` | the problems, with the prompts as Gradus asks them and each row as JSON |
| \`reward.py\`, \`reward_manager.py\`, \`gradus_rewards.py\` | verl's rewards: they ask \`gradus rewards serve\`, so that scores are those of Gradus |
| \`gradus.json\`, \`code/\` | the configuration that the rewards are made of, and your reward functions |

## Install

On every node, with the same path to this folder:

\`\`\`sh
pip install "verl[vllm,fsdp]==${VERL_VERSION}"
npm install --global gradus@${version} --ignore-scripts    # Node 22.18 or later; GRADUS names another command, such as that of a checkout
\`\`\`

Packages that your reward functions import must be there, too. ${
    isAbsolute(model!)
      ? `The model is a folder: copy it to ${model}, or add \`actor_rollout_ref.model.path=FOLDER\`.`
      : `verl downloads ${model} from Hugging Face.`
  }

## Run

\`\`\`sh
GPUS=8 ./run.sh
GPUS=8 ./run.sh trainer.total_training_steps=2 trainer.val_before_train=false    # a trial
\`\`\`

Arguments are keys of verl's \`ppo_trainer\` configuration, of which the last counts; verl refuses those that it does not know.
\`GPUS\` (of each node) × \`NODES\` must divide the ${completions} completions of a step. What no configuration of Gradus says, such as
\`actor_rollout_ref.rollout.tensor_model_parallel_size\` or \`actor_rollout_ref.rollout.gpu_memory_utilization\`, is for you to choose.
Run again, it goes on from the last checkpoint.

A completion whose reward fails is not scored: \`reward.py\` raises, verl logs the error and trains on the other completions of its group.

## Evaluate the result with Gradus

\`\`\`sh
${mergeCommand(steps)}
gradus eval CONFIG ${trainedSettings(config, 'FOLDER')
    .map((setting) => `--set ${setting}`)
    .join(' ')}
\`\`\`

CONFIG is the configuration that was handed over, on any machine that has its data; FOLDER is the full path of this folder.

## Where verl differs

${differences.map((difference) => `- ${difference}`).join('\n')}
`;
}
