// The parts of a configuration that are objects of their own: adapters, rollouts, evaluations, checkpoints, and each engine's settings.
import { z } from 'zod';
import { count, duration, fraction, names, positive } from './shapes.ts';

export const lora = z.strictObject({
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

export const rollout = z.strictObject({
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

export const curriculum = z.strictObject({
  target: fraction.default(0.5).describe('how often problems should be solved'),
  candidates: z
    .int()
    .min(2)
    .default(4)
    .describe('problems drawn for each that is asked, the nearest to the target: the more, the stricter'),
});

export const evaluation = z.strictObject({
  on_start: z.boolean().default(true).describe('evaluate the untrained policy, which is the baseline'),
  every_steps: count.nullable().default(20).describe('null: only at the start and at the end'),
  limit: count.default(128).describe('the most problems of one evaluation'),
  k: z
    .array(count.max(10_000))
    .nonempty()
    .default([1])
    .describe('pass@k for each; the largest is the number of samples of a problem'),
});

export const save = z.strictObject({
  every_steps: count.nullable().default(20).describe('null: only at the end'),
  best: z.string().nullable().default('eval/accuracy').describe('the metric that decides which checkpoint is best'),
  total_limit: count.nullable().default(3).describe('how many checkpoints are kept besides the best'),
});

export const native = z.strictObject({
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

export const trl = z.strictObject({
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

export const modal = z.strictObject({
  gpu: z.string().default('A10G').describe('by its name at Modal; H100:2 is two of them'),
  timeout: duration.default('1h').describe('after which the machine is given back, whatever has happened; at most 24h'),
  volume: z.string().default('gradus').describe('where runs and downloaded weights stay'),
  secrets: z.array(z.string()).default([]).describe('by their names at Modal, for example one with HF_TOKEN'),
});
