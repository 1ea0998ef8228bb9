// The names of our keys in verl and OpenRLHF, where TRL and others do not use the same: part of `foreignNames`.
import { aliases, call, type Text } from '../common/words.ts';

const SPLITS =
  'the backend splits a step itself: leave it out; for the micro-batches of backend trl see trl.per_device_train_batch_size';
const PROCESSES = 'use trl.accelerate_config and trl.num_processes for several GPUs: leave it out';
const ENVIRONMENT =
  'an environment decides what happens between the turns of the model, and its methods may be tools: environment: FILE:CLASS';
const EVALUATIONS =
  'evaluations take eval.k samples of each problem, as training samples, and a greedy answer: leave it out';
const outOption = () => `it is an option of the command: ${call('train', undefined, { out: 'DIR' })}`;
const resumeOption = () => `it is an option of the command: ${call('train', undefined, { resume: true })}`;

/** Foreign name → our key, or a sentence if there is none. A name with dots is a key in a section, or a section, of that system. */
export const verlNames: Readonly<Record<string, Text>> = {
  ...aliases('model', 'pretrain'),
  ...aliases('dataset', 'prompt_data', 'prompt_dataset'),
  ...aliases('dataset_split', 'prompt_split'),
  ...aliases('prompt_column', 'input_key'),
  ...aliases('answer_column', 'label_key'),
  ...aliases('train_limit', 'train_max_samples'),
  ...aliases('eval.limit', 'val_max_samples'),
  ...aliases('eval_dataset', 'eval.dataset'),
  ...aliases('eval_split', 'eval.split'),
  ...aliases('chat_template', 'custom_chat_template', 'tokenizer_chat_template'),
  ...aliases('learning_rate', 'actor_learning_rate'),
  ...aliases('num_generations', 'n_samples_per_prompt', 'rollout.n_samples_per_prompt'),
  ...aliases('prompts_per_step', 'rollout.batch_size', 'data.train_batch_size'),
  ...aliases('max_prompt_tokens', 'prompt_max_len'),
  ...aliases('max_completion_length', 'rollout.max_new_tokens', 'rollout.response_length'),
  ...aliases('temperature', 'rollout.temperature'),
  ...aliases('top_p', 'rollout.top_p'),
  ...aliases('top_k', 'rollout.top_k'),
  ...aliases('num_iterations', 'train.max_epochs'),
  ...aliases('num_train_epochs', 'num_episodes'),
  ...aliases('max_steps', 'total_training_steps'),
  ...aliases('weight_decay', 'l2'),
  ...aliases('epsilon', 'eps_clip', 'clip_ratio_low'),
  ...aliases('delta', 'clip_ratio_c', 'dual_clip'),
  ...aliases('beta', 'init_coef'),
  ...aliases('kl_estimator', 'algorithm.kl_penalty', 'algo.kl.estimator'),
  ...aliases('loss_type', 'policy_loss_type'),
  ...aliases('entropy_coef', 'entropy_loss_coef'),
  ...aliases('lr_scheduler_type', 'warmup_style'),
  ...aliases('warmup_ratio', 'lr_warmup_steps_ratio'),
  ...aliases('group_policy', 'dynamic_filtering', 'dynamic_filtering_enable', 'algorithm.filter_groups.enable'),
  ...aliases('adaptive_reward_scaling', 'normalize_reward'),
  ...aliases('importance_sampling_correction', 'enable_vllm_is_correction', 'is_correction_enable'),
  ...aliases(
    'importance_sampling_clip_max',
    ...['rollout_is_threshold', 'rollout_rs_threshold', 'tis_imp_ratio_cap', 'vllm_is_truncated_threshold'],
  ),
  ...aliases('importance_sampling_clip_min', 'rollout_rs_threshold_lower'),
  ...aliases('max_turns', 'max_assistant_turns', 'max_user_turns'),
  ...aliases('save.total_limit', 'max_ckpt_num', 'ckpt.max_num'),
  ...aliases('lora.alpha', 'ds.lora.alpha'),
  ...aliases('lora.dropout', 'ds.lora.dropout'),
  ...aliases('trl.gradient_checkpointing', 'gradient_checkpointing_enable'),

  ...aliases(
    'prompts_per_step counts prompts, as train_batch_size does in verl; in OpenRLHF, where that counts completions, it is called rollout_batch_size',
    ...['train_batch_size', 'train.batch_size'],
  ),
  ...aliases(
    'num_train_epochs counts passes over the data; in OpenRLHF, where max_epochs counts updates on the rollouts of one step, it is called num_episodes',
    'max_epochs',
  ),
  ...aliases('here it is called warmup_steps; leave it out if it is -1', 'lr_warmup_steps'),
  ...aliases('schedules are as long as the run: leave it out', 'actor_rollout_ref.actor.optim.total_training_steps'),
  ...aliases('write it in lr_scheduler_kwargs: {num_cycles: 0.5}', 'num_cycles'),
  ...aliases('write them as two keys: adam_beta1 and adam_beta2', 'betas', 'adam_betas'),
  ...aliases('write them as two keys: epsilon and epsilon_high', 'eps_clip_low_high'),
  ...aliases(
    'loss_type says how tokens are averaged: dapo is token-mean, grpo seq-mean-token-mean, dr_grpo seq-mean-token-sum-norm',
    'loss_agg_mode',
  ),
  ...aliases(
    'loss_type chooses the loss: grpo, bnpo, dapo and dr_grpo are vanilla, cispo and sapo have the same names, and preset: gspo is gspo',
    'loss_mode',
  ),
  ...aliases('scale_rewards: none does not divide by the deviation', 'no_advantage_std_norm', 'no_std_norm'),
  ...aliases(
    'the divergence from the reference is a part of the loss, whose weight is beta, and not of rewards: leave it out',
    ...['algorithm.kl_ctrl', 'algo.kl.target', 'algo.kl.horizon', 'kl_target', 'kl_horizon'],
  ),
  ...aliases('beta: 0 turns the KL divergence off, a larger value turns it on: leave it out', ...['use_loss']),
  ...aliases(
    'the reference is the initial model, and beta its weight in the loss: leave it out',
    'actor_rollout_ref.ref',
  ),
  ...aliases(
    'advantages are those of GRPO; presets and loss_type choose among its variants: leave it out',
    'algo.advantage.estimator',
  ),
  ...aliases(
    'a group teaches nothing if its scores are all equal, whatever they are: leave it out',
    ...['algorithm.filter_groups.metric', 'dynamic_filtering_reward_range', 'dynamic_filtering_range'],
  ),
  ...aliases(
    'with group_policy: resample a step draws as many prompts as it still lacks: leave it out',
    ...['gen_batch_size', 'vllm_generate_batch_size', 'rollout.vllm_generate_batch_size'],
  ),
  ...aliases(
    'importance_sampling_correction turns the correction for the sampler on or off, and importance_sampling_mode says whether it is for tokens or sequences, and whether ratios out of bounds are clipped (truncate) or ignored (mask)',
    ...['rollout_is', 'rollout_rs', 'is_correction_type'],
  ),
  ...aliases(
    'write them as two keys: importance_sampling_clip_min and importance_sampling_clip_max',
    'is_correction_threshold',
  ),
  ...aliases(
    'it counts tokens, while overlong_buffer is a fraction of max_completion_length: divide it by that',
    ...['overlong_buffer_len', 'soft_cache_length', 'soft_punish_cache', 'reward_model.overlong_buffer.len'],
    'reward_model.reward_kwargs.overlong_buffer_cfg.len',
  ),
  ...aliases(
    'the penalty of overlong_buffer grows to 1 at max_completion_length, and null turns it off: leave it out',
    ...['overlong_penalty_factor', 'reward_model.overlong_buffer.enable', 'reward_model.overlong_buffer.log'],
    ...['reward_model.overlong_buffer.penalty_factor', 'reward_model.reward_kwargs.max_resp_len'],
    ...['enable', 'log', 'penalty_factor'].map((name) => `reward_model.reward_kwargs.overlong_buffer_cfg.${name}`),
  ),
  ...aliases(
    'rewards are functions here, reward: NAME or reward_fn: FILE:NAME; no reward loads a model, but llm_judge asks one over HTTP',
    ...['reward_pretrain', 'remote_rm_url', 'reward_manager'],
  ),
  ...aliases('write the path and the name as one text: reward_fn: FILE:NAME', 'reward.custom_reward_function'),
  ...aliases(
    'write reward: NAME for a built-in reward, or reward_fn: FILE:NAME for a function of yours; llm_judge asks a model over HTTP',
    ...['remote_url', 'model_name_or_path', 'reward_model', 'reward_manager', 'num_workers', 'clip_range'].map(
      (name) => `reward.${name}`,
    ),
  ),
  ...aliases('rewards get every column of a row by its name: leave it out', 'reward_fn_key'),
  ...aliases('chat_template: auto, the default, is the model’s own: leave it out', 'apply_chat_template'),
  ...aliases('write prompt_template, with {column} for the value of a column', 'input_template'),
  ...aliases(
    'name one data set, dataset: PATH or ID, with dataset_split and dataset_config; put rows of several data sets into one folder',
    ...['prompt_data_probs', 'prompt_probs'],
  ),
  ...aliases(
    'columns, filter and prompt_template say how rows become prompts: leave it out',
    ...['data.custom_cls', 'data.datagen', 'data.sampler'],
  ),
  ...aliases('shuffle_dataset', 'shuffle'),
  ...aliases('held-out problems keep their order: leave it out', 'validation_shuffle'),
  ...aliases(
    'the prompts of a step are in random order, and its updates learn from them in that order: leave it out',
    'actor_rollout_ref.actor.shuffle',
  ),
  ...aliases(
    ENVIRONMENT,
    ...['agent_func_path', 'agent_path', 'tool_config_path', 'interaction_config_path', 'agent_loop_config_path'],
    ...['actor_rollout_ref.rollout.multi_turn.enable', 'actor_rollout_ref.rollout.agent', 'max_tool_response_length'],
  ),
  ...aliases(
    'the model’s own chat template says how tools are called: leave it out',
    ...['actor_rollout_ref.rollout.multi_turn.format', 'use_inference_chat_template', 'tokenization_sanity_check_mode'],
  ),
  ...aliases(
    EVALUATIONS,
    ...['val_kwargs', 'actor_rollout_ref.rollout.val_kwargs', 'eval_temperature', 'eval_n_samples_per_prompt'],
    ...['eval.temperature', 'eval.n_samples_per_prompt'],
  ),
  ...aliases(outOption, 'default_local_dir', 'ckpt_path', 'save_path', 'ckpt.path'),
  ...aliases(resumeOption, 'resume_mode', 'resume_from_path', 'load_checkpoint', 'load_enable'),
  ...aliases(() => `${call('evaluate', 'CONFIG')} measures a model without training it: leave it out`, 'val_only'),
  ...aliases(
    'all completions are in rollouts/ of the run, and those of evaluations in evals/: leave it out',
    ...['rollout_data_dir', 'validation_data_dir'],
  ),
  ...aliases(
    'checkpoints hold what a run needs to go on: leave it out',
    ...['actor_rollout_ref.actor.checkpoint', 'save_hf_ckpt', 'save_hf', 'disable_ds_ckpt', 'use_ds_universal_ckpt'],
  ),
  ...aliases(
    'every step samples with the weights that the steps before it left: leave it out',
    ...['async_train', 'async_enable', 'async_queue_size'],
  ),
  ...aliases(
    'GRPO needs no critic: a score is compared with those of its group: leave it out',
    ...['critic', 'critic_pretrain', 'critic_learning_rate', 'value_head_prefix', 'save_value_network', 'value_clip'],
    ...['freezing_actor_steps', 'lambd'],
  ),
  ...aliases(
    SPLITS,
    ...['micro_train_batch_size', 'micro_rollout_batch_size', 'ppo_micro_batch_size', 'ppo_max_token_len_per_gpu'],
    ...['use_dynamic_bsz', 'use_dynamic_batch', 'dynamic_batch_enable', 'train_max_tokens_per_gpu', 'val_batch_size'],
    ...['rollout_max_tokens_per_gpu', 'max_tokens_per_gpu', 'log_prob_use_dynamic_bsz', 'log_prob_micro_batch_size'],
    ...['log_prob_max_token_len_per_gpu', 'forward_max_token_len_per_gpu', 'balance_batch'],
    ...['rollout.micro_batch_size', 'rollout.max_tokens_per_gpu'],
  ),
  ...aliases(
    PROCESSES,
    ...['zero_stage', 'zpg', 'adam_offload', 'overlap_comm', 'num_nodes', 'num_gpus_per_node'],
    ...['actor_rollout_ref.actor.strategy', 'colocate_all', 'colocate_all_models', 'colocate_actor_ref'],
    ...['actor_init_on_gpu', 'ring_attn_size', 'ring_head_stride', 'ref_reward_offload', 'deepcompile'],
    ...['grad_accum_dtype', 'hybrid_engine', 'ray_kwargs', 'ray_init'],
  ),
  ...aliases(
    'it cannot be set: backend trl uses TRL’s default, and native has nothing like it: leave it out',
    ...['enforce_eager', 'free_cache_engine', 'max_num_batched_tokens', 'max_num_seqs', 'enable_chunked_prefill'],
    ...['enable_prefix_caching', 'load_format', 'layered_summon', 'ignore_eos', 'cudagraph_capture_sizes'],
    ...[
      'enable_sleep',
      'engine_kwargs',
      'rollout_tasks_per_gpu',
      'actor_rollout_ref.rollout.mode',
      'multi_stage_wake_up',
    ],
  ),
  ...aliases(
    'it cannot be set: the backend chooses attention and kernels: leave it out',
    ...['use_torch_compile', 'use_fused_kernels', 'use_liger', 'impl_backend'],
  ),
  ...aliases(
    'lora.target_modules may be a regular expression that names layers, such as .*layers\\.[0-3]\\..*proj',
    'exclude_modules',
  ),
  ...aliases('completions are not packed: leave it out', 'packing_samples'),
  ...aliases(
    'backend trl trains mixtures of experts with the coefficient of their config.json: leave it out',
    ...['aux_loss_coef'],
  ),
  ...aliases(
    'trackers: [tensorboard], [mlflow], [wandb] or [trackio] shows runs; the variables of their libraries set the rest: leave it out',
    ...['logger.wandb', 'logger.tensorboard_dir', 'logger.use_tensorboard'],
  ),
  ...aliases(
    'for number types, backend native has native.rollout_dtype and native.matmul_precision, and backend trl has trl.bf16',
    'param_dtype',
  ),
  ...aliases(
    'nothing here depends on it: leave it out',
    ...['do_sample', 'calculate_log_probs', 'use_rollout_log_probs', 'entropy_checkpointing', 'use_shm'],
    ...['entropy_from_logits_with_chunking', 'return_raw_chat', 'return_raw_input_ids', 'return_full_prompt'],
    ...['filter_overlong_prompts_workers', 'use_legacy_worker_impl', 'disable_fast_tokenizer', 'perf', 'use_ms'],
    ...['disable_log_stats', 'default_hdfs_dir', 'max_critic_ckpt_to_keep', 'del_local_ckpt_after_load'],
    ...['launch_reward_fn_async', 'external_lib', 'global_profiler', 'enable_activation_offload'],
    ...['actor', 'ref', 'rollout'].map((part) => `actor_rollout_ref.${part}.profiler`),
  ),
  ...aliases(
    'there is nothing like it here: leave it out',
    ...['clip_cov_ratio', 'clip_cov_lb', 'clip_cov_ub', 'kl_cov_ratio', 'ppo_kl_coef', 'enable_ema', 'ema_beta'],
    ...['ptx_coef', 'pretrain_data', 'reward_clip_range'],
  ),
};
