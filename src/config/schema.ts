// The configuration's schema: every key with its type, default and description. Names of hyper-parameters are TRL's.
import { z } from 'zod';
import { presetNames } from './presets.ts';
import { curriculum, evaluation, lora, modal, native, rollout, save, trl } from './sections.ts';
import { count, duration, fraction, names, positive, regularExpression } from './shapes.ts';
import { systemPromptNames, systemPrompts } from './system-prompts.ts';

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
  curriculum: curriculum
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
  ...['backend', 'compute', 'seed', 'model', 'chat_template', 'lora', 'trainable'],
  ...['eval_dataset', 'eval_split', 'eval_fraction'],
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

/** For parsing: code made for the schema takes longer to compile than a process parses configurations. */
export const uncompiled = { jitless: true } as const;

export const configDefaults: Config = configSchema.parse({}, uncompiled);

/** One reward by name, with its weight and its own settings. */
export type RewardConfig = Config['reward'][number];

function asEntry(part: z.output<typeof reward>): z.input<typeof weightedReward> {
  return typeof part === 'string' ? { name: part } : part;
}
