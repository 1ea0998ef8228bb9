// The configuration's schema: every key with its type, default and description. Names of hyper-parameters are TRL's.
import { z } from 'zod';
import { presetNames } from './presets.ts';
import { systemPromptNames, systemPrompts } from './system-prompts.ts';

const count = z.int().positive();
const fraction = z.number().min(0).max(1);
const positive = z.number().positive();
const duration = z.string().regex(/^\d+(ms|s|m|h)$/, 'expected a duration such as 30s, 10m or 1h');
const regularExpression = z.string().refine(isRegularExpression, 'expected a regular expression');
const plainObject = z.record(z.string(), z.unknown());

const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
});

const weightSchedule = z.union([
  z.number(),
  z.strictObject({ from: z.number(), to: z.number(), steps: count }),
  z.strictObject({
    points: z
      .array(z.tuple([z.int().nonnegative(), z.number()]))
      .nonempty()
      .refine((points) => points.every(([step], i) => i === 0 || step >= points[i - 1]![0]), 'expected steps in order'),
  }),
]);

const weightedReward = z.strictObject({
  name: z.string(),
  weight: weightSchedule
    .default(1)
    .describe('a number, or {from, to, steps}, or {points: [[step, weight], …]} with straight lines between them'),
  config: plainObject.default({}),
});
const reward = z.union([z.string(), weightedReward]);

/** A list of names, or one regular expression. */
const names = z.union([z.string(), z.array(z.string()).nonempty()]);

const lora = z.strictObject({
  r: count.default(16).describe('rank of the adapters'),
  alpha: positive.default(32).describe('adapters are scaled by alpha / r'),
  dropout: z.number().min(0).lt(1).default(0).describe('how likely an adapter does not see a number, while training'),
  target_modules: names
    .default('all-linear')
    .describe('ends of the names of layers; or one text: all-linear, or a regular expression of whole names'),
  rank_pattern: z.record(z.string(), count).default({}).describe('other ranks, by ends of names or expressions'),
  alpha_pattern: z.record(z.string(), positive).default({}).describe('other values of alpha, likewise'),
  use_rslora: z.boolean().default(false).describe('scale by alpha / √r'),
  modules_to_save: z
    .array(z.string())
    .default([])
    .describe('modules that are trained themselves, such as embed_tokens and lm_head'),
});

const rollout = z.strictObject({
  strategy: z
    .enum(['fail_fast', 'retry', 'min_viable'])
    .default('min_viable')
    .describe('of episodes that fail: stop the run, play them again, or do without them'),
  min_group: count
    .default(4)
    .describe('a group with fewer scored episodes, or not all where it has fewer, is left out'),
  retries: z.int().nonnegative().default(1).describe('of an episode, with strategy retry'),
  step_timeout: duration.default('10s').describe('of one call of the environment'),
  episode_timeout: duration.default('60s').describe('of all calls of the environment in an episode'),
});

const evaluation = z.strictObject({
  on_start: z.boolean().default(true).describe('evaluate the untrained policy, which is the baseline'),
  every_steps: count.nullable().default(20).describe('null: only at the start and at the end'),
  limit: count.default(128).describe('the most problems of one evaluation'),
  k: z
    .array(count)
    .nonempty()
    .default([1])
    .describe('pass@k for each; the largest is the number of samples of a problem'),
});

const save = z.strictObject({
  every_steps: count.nullable().default(20).describe('null: only at the end'),
  best: z.string().nullable().default('eval/accuracy').describe('the metric that decides which checkpoint is best'),
  total_limit: count.nullable().default(3).describe('how many checkpoints are kept besides the best'),
});

const native = z.strictObject({
  device: z.enum(['cpu', 'webgpu', 'cuda']).default('cpu'),
  threads: z.union([z.literal('auto'), count]).default('auto'),
  rollout_dtype: z.enum(['auto', 'float32', 'int8', 'int4']).default('auto'),
  memory_budget: z
    .string()
    .regex(/^\d+(\.\d+)?([MG]i?B)$/, 'expected an amount of memory such as 4GB or 1500MB')
    .nullable()
    .default(null)
    .describe('the most memory of the process, for example 4GB; less memory takes more time'),
  reward_workers: z
    .int()
    .nonnegative()
    .default(1)
    .describe('processes for rewards that may never end: yours, and those with patterns of yours; 0: in this one'),
});

const onGpu = z.union([z.literal('auto'), z.boolean()]);

const trl = z.strictObject({
  bf16: onGpu.default('auto').describe('auto: on a GPU that has it'),
  gradient_checkpointing: onGpu.default('auto').describe('less memory, a third more computing; auto: on a GPU'),
  load_in_4bit: z.boolean().default(false).describe('QLoRA: frozen weights in 4 bits'),
  per_device_train_batch_size: count
    .nullable()
    .default(null)
    .describe('completions learnt from at once, and gradients added up; null: all of a step'),
  num_processes: count.default(1).describe('GPUs'),
  accelerate_config: z.string().nullable().default(null).describe('a file of accelerate’s: DeepSpeed, FSDP'),
  use_vllm: z.boolean().default(false).describe('sample with vLLM'),
  vllm_mode: z.enum(['colocate', 'server']).default('colocate'),
  vllm_gpu_memory_utilization: fraction.default(0.3).describe('with colocate: vLLM’s share of each GPU’s memory'),
  vllm_tensor_parallel_size: count.default(1),
  vllm_max_model_length: count.nullable().default(null).describe('null: what the model has'),
  vllm_server_base_url: z
    .string()
    .default('http://127.0.0.1:8000')
    .describe('with server: where trl vllm-serve listens'),
  vllm_server_gpus: count.default(1).describe('with server: how many of num_processes it has for itself'),
});

const modal = z.strictObject({
  gpu: z.string().default('A10G').describe('by its name at Modal; H100:2 is two of them'),
  timeout: duration.default('1h').describe('after which the machine is given back, whatever has happened; at most 24h'),
  volume: z.string().default('gradus').describe('where runs and downloaded weights stay'),
  secrets: z.array(z.string()).default([]).describe('by their names at Modal, for example one with HF_TOKEN'),
});

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** A value, one of several, or what numbers and texts are held against. */
const condition = z.union([
  scalar,
  z.array(scalar).nonempty(),
  z.strictObject({
    min: z.number().exactOptional(),
    max: z.number().exactOptional(),
    matches: regularExpression.exactOptional().describe('a regular expression'),
  }),
]);

/** Every key but `stages`. */
const keys = {
  backend: z.enum(['builtin', 'native', 'trl', 'unsloth', 'verl', 'tinker']).default('native'),
  compute: z.enum(['local', 'modal']).default('local'),
  seed: z.int().nonnegative().default(0),

  model: z
    .string()
    .nullable()
    .default(null)
    .describe('a path or a Hugging Face id, such as org/name or org/name@revision; every backend but builtin needs it'),
  chat_template: z.string().default('auto').describe('auto, none (plain text) or the path of a Jinja file'),
  system_prompt: z
    .union([z.string(), z.strictObject({ preset: z.enum(systemPromptNames) })])
    .transform((given) => (typeof given === 'string' ? given : systemPrompts[given.preset]))
    .nullable()
    .default(null)
    .describe('a text, or {preset: reasoning_answer} for <reasoning> and <answer> sections'),
  few_shot: z.array(message).default([]).describe('messages put before every prompt'),

  dataset: z.string().nullable().default(null).describe('a file, a folder or a Hugging Face id'),
  dataset_config: z.string().nullable().default(null),
  dataset_split: z.string().default('train'),
  columns: z.record(z.string(), z.string()).default({}).describe('columns under other names: {question: problem}'),
  filter: z.record(z.string(), condition).default({}).describe('rows to keep, by column'),
  train_limit: count.nullable().default(null).describe('the most rows to train on, chosen by seed'),
  eval_dataset: z.string().nullable().default(null),
  eval_split: z.string().nullable().default(null),
  eval_fraction: z.number().min(0).max(0.9).nullable().default(null).describe('held out of the data; 0.1 if null'),
  taskset: z.string().nullable().default(null).describe('problems made by a program, in place of a data set'),
  taskset_config: plainObject.default({}),
  prompt_column: z.string().default('question'),
  answer_column: z.string().default('answer'),
  prompt_template: z
    .string()
    .nullable()
    .default(null)
    .describe('the prompt, with {column} for a column; null: its text'),
  overlong_prompts: z.enum(['error', 'drop', 'truncate_left']).default('error'),
  max_prompt_tokens: count.nullable().default(null).describe('null: what the context leaves beside the completion'),

  reward: z
    .union([reward, z.array(reward)])
    .transform((value) => [value].flat().map((part) => weightedReward.parse(asEntry(part))))
    .default([]),
  adaptive_reward_scaling: z
    .boolean()
    .default(false)
    .describe('divide each reward by the standard deviation of its values so far'),
  overlong_buffer: fraction
    .nullable()
    .default(null)
    .describe(
      'punish completions in this last part of max_completion_length, down to -1 (reward overlong); null: none',
    ),
  reward_fn: z.string().nullable().default(null).describe('FILE:NAME of a reward function of yours'),
  reward_timeout: duration.default('30s').describe('of one call of a reward function, with a whole group'),

  environment: z
    .union([z.string(), z.record(z.string(), z.string())])
    .nullable()
    .default(null)
    .describe('FILE:NAME of an environment of yours, or several by names, of which environment_column chooses'),
  environment_config: plainObject.default({}).describe('its settings; of several, those of each under its name'),
  environment_column: z.string().default('environment').describe('the name of each row’s environment'),
  max_turns: count.default(5).describe('turns of the policy in an episode'),
  max_episode_tokens: count.nullable().default(null).describe('read and sampled; null: what the context holds'),
  rollout: rollout.prefault({}),
  max_error_fraction: fraction.default(0.1).describe('of the rollouts of the last 10 steps'),

  preset: z.enum(presetNames).nullable().default(null).describe('settings that belong together: see gradus presets'),
  loss_type: z.enum(['grpo', 'bnpo', 'dr_grpo', 'dapo', 'cispo', 'sapo', 'vespo', 'luspo']).default('dapo'),
  importance_sampling_level: z.enum(['token', 'sequence']).default('token'),
  num_generations: z.int().min(2).default(8).describe('completions of a prompt, compared with one another'),
  prompts_per_step: count.default(4),
  num_iterations: count.default(1).describe('updates made with the rollouts of one step'),
  max_completion_length: count.default(256).describe('tokens of one turn of the policy'),
  temperature: positive.default(1),
  beta: z.number().nonnegative().default(0).describe('weight of the KL divergence from the frozen reference'),
  log_kl: z.boolean().default(false).describe('measure KL even where beta is 0'),
  kl_estimator: z.enum(['k1', 'k2', 'k3']).default('k3'),
  use_bias_correction_kl: z
    .boolean()
    .default(true)
    .describe('weigh the KL divergence by the importance ratio, so that its gradient is that of the divergence'),
  epsilon: positive.default(0.2),
  epsilon_high: positive
    .nullable()
    .default(null)
    .describe('null: epsilon; with loss_type cispo the largest ratio itself, which has no default'),
  delta: positive.nullable().default(null).describe('upper bound of the ratio on both sides; null: none'),
  sapo_temperature_pos: positive.default(1),
  sapo_temperature_neg: positive.default(1.05),
  vespo_k_pos: z.number().nonnegative().default(2),
  vespo_lambda_pos: positive.default(3),
  vespo_k_neg: z.number().nonnegative().default(3),
  vespo_lambda_neg: positive.default(2),
  off_policy_mask_threshold: positive
    .nullable()
    .default(null)
    .describe('bad sequences count for nothing once they are further from the policy, in nats a token; null: never'),
  top_entropy_quantile: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe('learn from this fraction of tokens, those of the highest entropy; below 1 a step takes one more pass'),
  entropy_coef: z.number().default(0).describe('weight of the entropy bonus'),
  use_adaptive_entropy: z
    .boolean()
    .default(false)
    .describe('lead entropy_coef so that entropy stays near entropy_target'),
  entropy_coef_min: z.number().default(0),
  entropy_coef_max: z.number().default(1),
  entropy_coef_delta: positive.default(0.005),
  entropy_target: positive.default(0.2).describe('nats a token'),
  mask_truncated_completions: z
    .boolean()
    .default(false)
    .describe('learn nothing from completions that a limit on tokens cut off'),
  importance_sampling_correction: z
    .boolean()
    .default(true)
    .describe('weigh the loss by trainer / sampler, where sampling used rounded weights or other kernels'),
  importance_sampling_mode: z
    .enum(['token_truncate', 'token_mask', 'sequence_truncate', 'sequence_mask'])
    .default('sequence_mask'),
  importance_sampling_clip_max: positive.default(3).describe('ratios above are cut down to it, or count for nothing'),
  importance_sampling_clip_min: positive
    .nullable()
    .default(null)
    .describe('ratios below are raised to it, or count for nothing; null: none'),
  advantage_baseline: z
    .enum(['group', 'leave_one_out'])
    .default('group')
    .describe('what a reward is compared with: the mean of its group, or that of the others in it'),
  scale_rewards: z
    .enum(['group', 'batch', 'none', 'mean'])
    .default('group')
    .describe('what advantages are divided by: a standard deviation, nothing, or the mean of the group (max-RL)'),
  multi_objective_aggregation: z
    .enum(['sum_then_normalize', 'normalize_then_sum'])
    .default('sum_then_normalize')
    .describe('normalize_then_sum: each reward function by itself, within its group'),
  group_policy: z.enum(['keep', 'drop', 'resample']).default('keep').describe('for groups whose rewards are all equal'),
  resample_limit: count.default(3),
  curriculum: z
    .strictObject({
      target: fraction.default(0.5).describe('how often problems should be solved'),
      candidates: z
        .int()
        .min(2)
        .default(4)
        .describe('problems drawn for each that is asked, the nearest to the target: the more, the stricter'),
    })
    .nullable()
    .default(null)
    .describe(
      'prefer problems by how often their groups solve them (the first reward gives at least 1); null: all alike',
    ),
  learning_rate: z.number().nonnegative().default(1e-5),
  lr_scheduler_type: z.enum(['constant', 'linear', 'cosine']).default('constant'),
  warmup_ratio: fraction.default(0),
  weight_decay: z.number().nonnegative().default(0),
  adam_beta1: z.number().min(0).lt(1).default(0.9),
  adam_beta2: z.number().min(0).lt(1).default(0.999),
  adam_epsilon: positive.default(1e-8),
  max_grad_norm: positive.default(1),
  max_steps: count.nullable().default(null).describe('100, unless there is num_train_epochs'),
  num_train_epochs: positive.nullable().default(null).describe('in place of max_steps; may be a fraction'),
  lora: lora.nullable().prefault({}).describe('low-rank adapters; null: full fine-tuning'),
  trainable: names
    .nullable()
    .default(null)
    .describe('with lora: null, parts of the names of what is trained, such as layers.0, or one expression; null: all'),

  eval: evaluation.nullable().prefault({}).describe('evaluation on held-out problems; null: none'),
  save: save.prefault({}),
  sample_every_steps: count.nullable().default(20).describe('null: never'),
  trackers: z.array(z.enum(['jsonl', 'tensorboard', 'mlflow', 'wandb'])).default(['jsonl']),

  native: native.prefault({}),
  trl: trl.prefault({}),
  modal: modal.prefault({}),
};

/** Keys that are the same in all stages: what a run is, how it is evaluated and kept. */
const ofTheRun = [
  ...[
    'backend',
    'compute',
    'seed',
    'model',
    'chat_template',
    'lora',
    'trainable',
    'eval_dataset',
    'eval_split',
    'eval_fraction',
  ],
  ...['preset', 'max_steps', 'num_train_epochs', 'max_error_fraction', 'eval', 'save'],
  ...['sample_every_steps', 'trackers', 'native', 'trl', 'modal'],
] as const satisfies readonly (keyof typeof keys)[];

export type StageKey = Exclude<keyof typeof keys, (typeof ofTheRun)[number]>;

/** The keys that a stage may give in place of the configuration's. */
export const stageKeys = Object.keys(keys).filter((key): key is StageKey => !ofTheRun.some((other) => other === key));

const overrides = Object.fromEntries(
  stageKeys.map((key) => {
    const schema: z.ZodType = keys[key];
    const bare = schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
    return [key, (bare as z.ZodType).describe(schema.description ?? '').exactOptional()];
  }),
) as Record<StageKey, z.ZodExactOptional<z.ZodUnknown>>;

const stage = z.strictObject({
  name: z.string(),
  steps: count,
  method: z
    .enum(['grpo', 'sft'])
    .default('grpo')
    .describe('sft: learn the right answers of the data as they are, prompts_per_step of them in a step'),
  completion_template: z
    .string()
    .nullable()
    .default(null)
    .describe('with method sft: the answer that is learnt, with {column} for a column; null: the answer column'),
  keep_optimizer: z
    .boolean()
    .default(false)
    .describe('go on with the optimiser and the schedules of the stage before, in place of fresh ones'),
  ...overrides,
});

export const configSchema = z.strictObject({
  ...keys,
  stages: z
    .array(stage)
    .default([])
    .describe('one after another, each with keys of its own in place of those above; the weights carry over'),
});

/** A configuration as a file or a caller states it: whatever has a default may be left out. */
export type ConfigInput = z.input<typeof configSchema>;

/** A configuration in which every key has its value. */
export type Config = z.output<typeof configSchema>;

export const configDefaults: Config = configSchema.parse({});

/** One reward by name, with its weight and its own settings. */
export type RewardConfig = Config['reward'][number];

function asEntry(part: z.output<typeof reward>): z.input<typeof weightedReward> {
  return typeof part === 'string' ? { name: part } : part;
}

function isRegularExpression(source: string): boolean {
  try {
    return Boolean(new RegExp(source, 'u'));
  } catch {
    return false;
  }
}
