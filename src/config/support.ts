// Who acts on a key: Gradus itself, or an engine. Giving a key a value that nothing acts on is an error, so that nothing is silently ignored.
import { isDeepStrictEqual } from 'node:util';
import { GradusError } from '../errors.ts';
import { defaultLossSettings } from '../grpo/loss-settings.ts';
import { type BackendName, backendTable, type EnginePart, type Limitation } from './backend-table.ts';
import { type Config, configDefaults } from './schema.ts';
import { short } from './values.ts';

type Key = keyof Config;

/** The keys that Gradus acts on itself, in the same way for every backend, by what does. */
export const ownKeys = {
  'the data and the prompts': [
    'system_prompt',
    'few_shot',
    'dataset',
    'dataset_config',
    'dataset_split',
    'columns',
    'remove_columns',
    'filter',
    'train_limit',
    'eval_dataset',
    'eval_split',
    'eval_fraction',
    'taskset',
    'taskset_config',
    'curriculum',
    'prompt_column',
    'drop_last_turn',
    'answer_column',
    'prompt_template',
    'overlong_prompts',
    'max_prompt_tokens',
  ],
  'the rewards': ['reward', 'reward_fn', 'reward_timeout', 'adaptive_reward_scaling', 'overlong_buffer'],
  'the rollouts': [
    'environment',
    'environment_config',
    'environment_column',
    'max_turns',
    'max_episode_tokens',
    'max_completion_length',
    'rollout',
    'max_error_fraction',
  ],
  'the advantages': ['advantage_baseline', 'scale_rewards', 'multi_objective_aggregation'],
  'the training loop': [
    'num_generations',
    'prompts_per_step',
    'num_iterations',
    'learning_rate',
    'lr_scheduler_type',
    'lr_scheduler_kwargs',
    'warmup_ratio',
    'max_steps',
    'num_train_epochs',
    'mask_truncated_completions',
    'group_policy',
    'resample_limit',
  ],
  'the run': ['backend', 'compute', 'seed', 'preset', 'stages', 'eval', 'save', 'sample_every_steps', 'trackers'],
  'its engine alone': ['native', 'trl', 'tinker', 'modal'],
} as const satisfies Readonly<Record<string, readonly Key[]>>;

const own: ReadonlySet<string> = new Set(Object.values(ownKeys).flat());

/** The keys of the loss are its settings; those of the correction stand on their own in configurations. */
const lossKeys = [
  ...Object.keys(defaultLossSettings).filter((key) => key in configDefaults && !own.has(key)),
  'importance_sampling_correction',
  'importance_sampling_mode',
  'importance_sampling_clip_max',
  'importance_sampling_clip_min',
] as Key[];

/** The keys that engines act on, by part. */
export const engineKeys: Readonly<Record<EnginePart, readonly Key[]>> = {
  model: ['model', 'lora', 'adapter', 'trainable', 'chat_template', 'chat_template_kwargs'],
  sampling: ['temperature', 'top_p', 'top_k', 'min_p', 'stop'],
  loss: lossKeys,
  optimizer: ['weight_decay', 'adam_beta1', 'adam_beta2', 'adam_epsilon', 'max_grad_norm'],
};

/** Whether a backend acts on a key, or Gradus for it. */
function actsOn(backend: BackendName, key: string): boolean {
  const { acts, also = [] }: { readonly acts: readonly EnginePart[]; readonly also?: readonly string[] } =
    backendTable[backend];
  return own.has(key) || also.includes(key) || acts.some((part) => engineKeys[part].some((other) => other === key));
}

/** Throws `CONFIG_UNSUPPORTED` for the first key that nothing acts on with this backend. */
export function assertSupported(config: Config, placeOf: (path: readonly string[]) => string): void {
  const { backend } = config;
  const refuses: Readonly<Record<string, Limitation>> = backendTable[backend].refuses;
  const ignored = Object.keys(config).filter((key) => !(key in refuses) && !actsOn(backend, key));
  for (const key of [...Object.keys(refuses), ...ignored] as Key[]) {
    const { why, works = [], accepts } = refuses[key] ?? { why: 'does not act on it' };
    const value = config[key];
    const accepted: readonly unknown[] = [configDefaults[key], ...works];
    if (accepts?.(config, configDefaults) || accepted.some((other) => isDeepStrictEqual(value, other))) continue;
    throw new GradusError(
      'CONFIG_UNSUPPORTED',
      `${placeOf([key])}: ${key}: ${short(value)}: backend ${backend} ${why}`,
      {
        hint: `leave ${key} out or set it to ${[...new Set(accepted.map((other) => JSON.stringify(other)))].join(', ')}`,
        path: key,
      },
    );
  }
}
