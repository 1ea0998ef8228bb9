// The keys that the folder of a hand-off answers, whichever system trains: problems, their prompts, and rewards.
import { call } from '../../common/words.ts';
import { by, type HandoffKey, type HandoffRow, unless } from './handoff-row.ts';

export const problems = by('the rows of `train.parquet` and `eval.parquet`');
const prompts = by('the prompts of `train.parquet` and `eval.parquet`');
const rewards = by('the rewards of Gradus, which `reward.py` asks');

export const folderRows = {
  system_prompt: prompts,
  few_shot: prompts,
  prompt_column: prompts,
  drop_last_turn: prompts,
  prompt_template: prompts,
  dataset: problems,
  dataset_config: problems,
  dataset_split: problems,
  columns: problems,
  remove_columns: problems,
  filter: problems,
  train_limit: problems,
  eval_dataset: problems,
  eval_split: problems,
  eval_fraction: problems,
  taskset_config: problems,
  'eval.limit': problems,

  reward: unless(
    rewards,
    'weights that change during training; `diversity`, which compares the completions of a group',
    ({ reward }) => {
      if (reward.some(({ weight }) => typeof weight !== 'number'))
        return `\`${call('serveRewards')}\` is told neither the step nor the successes that weights could change with`;
      if (reward.some(({ name }) => name === 'diversity'))
        return `diversity compares the completions of a group, and \`${call('serveRewards')}\` scores each alone`;
      return undefined;
    },
  ),
  reward_fn: rewards,
  reward_timeout: rewards,
  overlong_buffer: rewards,
} satisfies Partial<Record<HandoffKey, HandoffRow>>;
