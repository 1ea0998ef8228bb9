// The names of our keys in axolotl, LLaMA-Factory, ms-swift, Unsloth and open-r1, where TRL and others do not use the same: part of `foreignNames`.
import { aliases, call, option, type Text } from '../common/words.ts';

/** Foreign name → our key, or a sentence if there is none. */
export const trainerNames: Readonly<Record<string, Text>> = {
  ...aliases('model', 'model_name_or_path_or_id', 'base_model_config', 'hf_model_id'),
  ...aliases('dataset', 'train_data', 'train_dataset_path', 'cached_dataset', 'tokenized_path'),
  ...aliases(
    'name one data set, dataset: PATH or ID, with dataset_split and dataset_config; put rows of several data sets into one folder',
    'datasets',
  ),
  ...aliases('prompt_column', 'dataset_prompt_column'),
  ...aliases('eval_dataset', 'test_datasets', 'val_data', 'cached_val_dataset', 'eval_data'),
  ...aliases('eval_fraction', 'val_set_size', 'val_size', 'split_dataset_ratio', 'validation_split_percentage'),
  ...aliases('shuffle_dataset', 'dataset_shuffle'),
  ...aliases('train_limit', 'max_samples', 'sample_size', 'num_train_samples'),
  ...aliases('prompts_per_step', 'global_batch_size', 'train_micro_batch_size', 'rollout_batch_size'),
  ...aliases('max_completion_length', 'response_length', 'max_response_len', 'generate_max_len'),
  ...aliases('max_steps', 'train_iters', 'max_train_steps'),
  ...aliases('beta', 'rl_beta', 'pref_beta', 'kl_beta_coef'),
  ...aliases('adam_epsilon', 'adam_eps'),
  ...aliases('warmup_ratio', 'lr_warmup_fraction', 'lr_warmup_ratio'),
  ...aliases('resample_limit', 'max_resample_times'),
  ...aliases('group_policy', 'dynamic_sample', 'skip_zero_advantage_batches'),
  ...aliases('mask_truncated_completions', 'overlong_filter'),
  ...aliases('overlong_buffer', 'soft_max_length'),
  ...aliases('importance_sampling_mode', 'rollout_importance_sampling_mode'),
  ...aliases('importance_sampling_clip_max', 'rollout_importance_sampling_threshold'),
  ...aliases('environment', 'use_gym_env', 'gym_env'),
  ...aliases('adapter', 'lora_model_dir', 'adapters', 'adapter_folder', 'resume_lora'),
  ...aliases('lora', 'peft_layers'),
  ...aliases('lora.r', 'lora_dim', 'lora_config.lora_rank'),
  ...aliases('lora.target_modules', 'lora_target', 'lora_target_layers', 'target_regex'),
  ...aliases('lora.modules_to_save', 'additional_target', 'modules_to_save'),
  ...aliases('lora.use_rslora', 'peft_use_rslora'),
  ...aliases('trl.load_in_4bit', 'load_in_4bit', 'quantization_bit', 'quant_bits'),
  ...aliases('trl.bf16', 'bfloat16', 'pure_bf16'),
  ...aliases('trl.gradient_checkpointing', 'gradient_checkpointing', 'disable_gradient_checkpointing'),
  ...aliases('trl.use_vllm', 'infer_backend', 'vllm'),
  ...aliases('trl.vllm_mode', 'vllm_mode'),
  ...aliases('seed', 'random_state'),
  ...aliases('trl.vllm_gpu_memory_utilization', 'vllm_gpu_memory_utilization', 'vllm_gpu_util'),
  ...aliases('trl.vllm_tensor_parallel_size', 'vllm_tensor_parallel_size', 'vllm.tensor_parallel_size'),
  ...aliases('trl.vllm_max_model_length', 'vllm_max_model_len', 'vllm_maxlen', 'vllm.max_model_len'),
  ...aliases('trl.vllm_server_base_url', 'vllm_server_base_url'),
  ...aliases(
    'the address of the server is trl.vllm_server_base_url',
    ...['vllm.host', 'vllm.port', 'trl.vllm_server_host', 'trl.vllm_server_port'],
  ),

  ...aliases(
    'GRPO is what is trained, loss_type and preset choose among its variants, and supervised steps are a stage with method: sft (stages: […] lists them): leave it out',
    ...['rl', 'rlhf_type', 'stage', 'advantage_estimator', 'pref_loss'],
  ),
  ...aliases(
    'lora: {r: 16, alpha: 32, target_modules: all-linear} trains adapters, lora: null the whole model: leave it out',
    ...['finetuning_type', 'train_type', 'tuner_type', 'sft_type', 'full_finetune', 'tuner_backend'],
    'full_finetuning',
  ),
  ...aliases(
    'lora.target_modules: all-linear adapts all linear layers; a regular expression names others',
    ...['lora_target_linear', 'lora_layers_to_transform', 'lora_layers_pattern', 'unfrozen_parameters'],
  ),
  ...aliases(
    'a prompt may have max_prompt_tokens and a completion max_completion_length',
    ...['sequence_len', 'cutoff_len', 'max_model_length', 'seq_length', 'max_len'],
  ),
  ...aliases(
    'the chat template is the model’s own, or the file that chat_template names; prompt_template builds a prompt from columns: leave it out',
    ...['template', 'chat_template_jinja', 'agent_template', 'template_backend', 'use_chat_template'],
    ...['response_prefix', 'default_system_message', 'tool_format', 'template_type'],
  ),
  ...aliases('system_prompt is one text for all rows', 'default_system'),
  ...aliases('set chat_template_kwargs: {enable_thinking: false} for the chat template', 'add_non_thinking_prefix'),
  ...aliases(
    'rewards are functions here, reward: NAME or reward_fn: FILE:NAME; no reward loads a model, but llm_judge asks one over HTTP',
    ...['reward_model', 'reward_model_path', 'reward_adapters', 'reward_model_type', 'reward_model_plugin'],
    ...['reward_template', 'reward_model_revision', 'process_reward_model', 'reward_model_quantization_bit'],
    ...['center_rewards_coefficient'],
  ),
  ...aliases(
    'name code of rewards and environments where it is used: reward_fn: FILE:NAME, environment: FILE:CLASS',
    ...['external_plugins', 'plugins', 'custom_register_path', 'multi_turn_scheduler', 'custom_dataset_info'],
    ...['interaction'],
  ),
  ...aliases(
    'an environment decides what happens between the turns of the model: environment: FILE:CLASS',
    ...['multi_turn_func', 'vllm_server_pass_dataset', 'completion_length_limit_scope'],
  ),
  ...aliases(
    'dataset is a path or the id of a data set on the hub, and columns: {NAME: COLUMN} renames its columns: leave it out',
    ...['dataset_dir', 'media_dir', 'dataset_info', 'dataset_format', 'dataset_type', 'remap_columns'],
  ),
  ...aliases(
    'beta compares with the initial model, which does not change: leave it out',
    ...['ref_model', 'ref_adapters', 'ref_model_type', 'ref_model_revision', 'reference_model', 'ref_model_adapters'],
    ...['ref_adapter_name', 'reference_free'],
  ),
  ...aliases(
    'the reward repetition_penalty has its settings in its config: reward: {name: repetition_penalty, config: {…}}',
    ...['repetition_n_grams', 'repetition_max_penalty'],
  ),
  ...aliases(
    'use seed, from which all random streams are made: the same seed gives the same run',
    'dataset_shuffle_seed',
  ),
  ...aliases('write eval: {every_steps: STEPS}, or eval: null for no evaluations', 'evals_per_epoch'),
  ...aliases('write save: {every_steps: STEPS} for checkpoints', 'saves_per_epoch'),
  ...aliases(
    'stop_when: ["eval/accuracy not improved for 5 evaluations"] ends a run early, with a patience of 5',
    ...['early_stopping', 'early_stopping_patience', 'early_stopping_threshold', 'early_stop', 'early_stop_interval'],
    ...['early_stop_patience', 'patience', 'min_delta', 'loss_watchdog_threshold', 'loss_watchdog_patience'],
  ),
  ...aliases(
    () => `a run has tags and a note besides its configuration: ${call('tag', 'RUN')}`,
    ...['tags', 'tag', 'notes', 'note', 'wandb_tags', 'wandb_notes'],
  ),
  ...aliases('stop_when', 'stop_condition', 'stop_conditions', 'stop_if', 'until'),
  ...aliases('max_time', 'time_limit', 'max_training_time', 'max_duration', 'max_wall_time', 'max_train_time'),
  ...aliases('max_tokens_total', 'token_budget', 'max_total_tokens', 'max_train_tokens'),
  ...aliases('max_cost', 'budget', 'cost_limit', 'max_cost_usd', 'max_spend'),
  ...aliases(
    () => `resume a run with ${call('train', undefined, { resume: true })}`,
    ...['auto_resume_from_checkpoints', 'resume_only_model', 'load_data_args', 'load_args'],
  ),
  ...aliases(
    () =>
      `export a model with ${call('export', 'RUN', { merged: true })}, ${option('format', 'peft')} or ${option('format', 'gguf')}`,
    ...['export_dir', 'export_size', 'export_device', 'export_legacy_format', 'merge_lora', 'export_hub_model_id'],
    ...['export_quantization_bit', 'export_quantization_dataset', 'safe_serialization', 'save_safetensors'],
  ),
  ...aliases(
    'the model and its chat template have the tokens that end a text, and stop names texts that end one: leave it out',
    ...['special_tokens', 'special_tokens.pad_token', 'special_tokens.eos_token', 'special_tokens.bos_token'],
    ...['special_tokens.unk_token', 'eot_tokens', 'added_tokens_overrides', 'add_special_tokens', 'tokens'],
    ...[
      'new_special_tokens',
      'resize_vocab',
      'fix_tokenizer',
      'resize_token_embeddings_to_32x',
      'add_tokens',
      'stop_token_ids',
    ],
    ...['generation_kwargs.stop_token_ids', 'tokens.bos_token', 'tokens.eos_token', 'tokens.unk_token'],
    ...['tokens.pad_token', 'missing_eos_penalty'],
  ),
  ...aliases(
    'the model’s files say it: leave it out',
    ...[
      'model_type',
      'tokenizer_type',
      'processor_type',
      'is_llama_derived_model',
      'tokenizer_config',
      'cls_model_config',
    ],
    ...['tokenizer_use_fast', 'tokenizer_legacy', 'use_fast_tokenizer', 'split_special_tokens', 'rope_scaling'],
    ...['tokenizer_use_mistral_common', 'num_labels', 'problem_type', 'task_model_type', 'low_cpu_mem_usage'],
    ...['model_author', 'model_config', 'overrides_of_model_config', 'experts_impl', 'experts_implementation'],
    ...['revision_of_model', 'hf_use_auth_token', 'use_hf', 'hub_download', 'reinit_weights', 'use_exact_model_name'],
    ...['tokenizer_name_or_path', 'tokenizer_name'],
  ),
  ...aliases(
    'completions are not packed, and a supervised stage trains on the answers alone: leave it out',
    ...['sample_packing', 'packing', 'eval_sample_packing', 'pad_to_sequence_len', 'padding_free', 'train_on_inputs'],
    ...['neat_packing', 'sample_packing_eff_est', 'total_num_tokens', 'group_by_len', 'max_packed_sequence_len'],
    ...['sample_packing_seq_len_multiplier', 'sample_packing_sequentially', 'multipack_real_batches', 'loss_scale'],
    ...['packing_length', 'use_packed_sequences', 'mask_history', 'train_on_prompt', 'roles_to_train'],
  ),
  ...aliases(
    'overlong_prompts says what happens to prompts that are too long',
    ...['truncation_strategy', 'excess_length_strategy', 'min_sample_len'],
  ),
  ...aliases(
    'rows are read into memory without preprocessing: leave it out',
    ...['dataset_prepared_path', 'skip_prepare_dataset', 'overwrite_cache', 'load_from_cache_file', 'streaming'],
    ...['lazy_tokenize', 'to_cached_dataset', 'dataset_processes', 'dataset_keep_in_memory', 'shuffle_buffer_size'],
    ...['shuffle_merged_datasets', 'dataset_exact_deduplication', 'push_dataset_to_hub', 'pretraining_dataset'],
    ...['val_dataset_shuffle', 'preprocessing_batch_size', 'strict', 'write_batch_size', 'stream'],
  ),
  ...aliases('curriculum chooses problems by their difficulty', 'curriculum_sampling'),
  ...aliases(
    'trackers: [tensorboard], [mlflow], [wandb] or [trackio] shows runs; WANDB_PROJECT and the like name a project: leave it out',
    ...['wandb_name', 'wandb_watch', 'wandb_log_model', 'wandb_run_id', 'use_wandb', 'use_tensorboard', 'use_mlflow'],
    ...['mlflow_tracking_uri', 'mlflow_experiment_name', 'use_swanlab', 'use_comet', 'trackio_project_name'],
    ...['trackio_run_name', 'plot_loss', 'wandb_log_unique_prompts', 'use_otel_metrics', 'eval_table_size'],
  ),
  ...aliases(
    'set the rate at the end of a schedule with lr_scheduler_kwargs: {min_lr_rate: FRACTION} and lr_scheduler_type: cosine_with_min_lr',
    ...['eta_min', 'cosine_constant_lr_ratio'],
  ),
  ...aliases(
    'it cannot be set: the backend chooses attention and kernels: leave it out',
    ...['attn_impl', 'flash_attn', 'flash_attention', 'sdp_attention', 'xformers_attention', 'attention_backend'],
    ...['flex_attention', 's2_attention', 'use_unsloth', 'enable_liger_kernel', 'cut_cross_entropy', 'tiled_mlp'],
    ...['lora_mlp_kernel', 'lora_qkv_kernel', 'lora_o_kernel', 'fused_attn_kernel', 'use_logits_to_keep', 'shift_attn'],
    ...['cross_entropy_loss_fusion', 'use_kernels', 'use_scattermoe', 'use_sonicmoe', 'gemma4_hybrid_attn_impl'],
  ),
  ...aliases(
    'the backend shares the memory of a GPU; trl.vllm_gpu_memory_utilization is vLLM’s share: leave it out',
    ...['sleep_level', 'offload_model', 'offload_optimizer', 'move_model_batches', 'activation_offloading'],
    ...['offload_teacher_model'],
  ),
  ...aliases(
    'every step samples with the weights that the steps before it left: leave it out',
    ...['async_generate', 'async_prefetch', 'use_data_producer', 'prefetch_depth', 'vllm_sync_interval'],
  ),
  ...aliases(
    'there is nothing like it here: leave it out',
    ...['log_entropy', 'log_rollout_offpolicy_metrics', 'kl_in_reward', 'sft_alpha', 'rpo_alpha', 'torchdistx_path'],
    ...['replay_buffer_size', 'off_policy_sequence_mask_delta', 'advantage_reweight', 'label_smoothing', 'seq_kd'],
    ...['reward_num_workers', 'eval_batch_size', 'eval_max_new_tokens', 'predict_with_generate', 'result_path', 'fp8'],
    ...['neftune_alpha', 'use_reentrant_gc', 'deterministic', 'quant_method', 'quantization_method', 'gptq', 'ddp'],
    ...['double_quantization', 'quantize_moe_experts', 'new_tokens', 'finetune', 'lora_fan_in_fan_out', 'tau_pos'],
    ...[
      'tau_neg',
      'real_tau',
      'generate_during_eval',
      'do_causal_lm_eval',
      'eval_causal_lm_metrics',
      'mixed_precision',
    ],
    ...['upcast_layernorm', 'upcast_lmhead_output', 'float16', 'expert_parallel_size', 'lr_quadratic_warmup'],
    ...['whiten_rewards', 'vf_coef', 'cliprange_value', 'gamma', 'lam', 'num_ppo_epochs', 'init_weights', 'lmbda'],
    ...['use_dora_fast', 'loraplus_lr_ratio', 'loraplus_lr_embedding', 'use_galore', 'use_badam', 'use_apollo'],
    ...['use_adam_mini', 'use_muon', 'use_llama_pro', 'mixture_of_depths', 'pissa_init', 'pissa_iter', 'relora'],
    ...['pissa_convert', 'vit_lr', 'aligner_lr', 'sequence_parallel', 'sequence_parallel_size', 'ray_num_workers'],
    ...['use_ray', 'dp_shard_size', 'dp_replicate_size', 'context_parallel_size', 'pipeline_model_parallel_size'],
    ...['expert_model_parallel_size', 'structured_outputs_regex', 'guided_decoding_regex', 'colocate_groups'],
    ...['enable_flattened_weight_sync', 'response_template', 'loss_weights', 'desirable_weight', 'undesirable_weight'],
    ...['enable_dft_loss', 'use_dft_loss', 'use_asft_loss', 'use_eaft_loss', 'use_eaft', 'asft_alpha'],
  ),
  ...aliases(
    'for number types, backend native has native.rollout_dtype and native.matmul_precision, and backend trl has trl.bf16',
    ...['load_in_16bit', 'load_in_fp8', 'float8_kv_cache'],
  ),
  ...aliases(
    'code_tests runs code against the tests of a row, and has its settings in its config: reward: {name: code_tests, config: {…}}',
    ...['code_language', 'code_provider', 'code_eval_test_batch_size', 'code_eval_scoring_mode'],
    'parallel_code_exec_per_proc',
  ),
  ...aliases('every evaluation is of held-out problems, with the rewards of training: leave it out', 'benchmarks'),
  ...aliases(() => `nothing is uploaded: ${call('export')} writes a folder that you can upload`, 'hub_model_revision'),
  ...aliases('a gated model is read with the token in HF_TOKEN: leave it out', 'token'),
  ...aliases(
    'a model is judged by rewards, not by a teacher: leave it out',
    ...['teacher', 'teacher_model', 'teacher_adapters', 'teacher_model_server', 'teacher_kl_coef', 'teacher_deepspeed'],
    ...['teacher_model_type', 'teacher_model_revision', 'teacher_tag_key', 'gkd_logits_topk'],
  ),
};

/** Groups of settings with the same beginning, each with one sentence for all of them. */
const families: readonly (readonly [RegExp, string])[] = [
  [
    /^finetune_\w+_(layers|modules)$/,
    'only text models are trained, in the layers that lora.target_modules names: leave it out',
  ],
  [/^unsloth_/, 'it cannot be set: the backend splits a step itself, and chooses how it shares memory: leave it out'],
  [
    /^(freeze|unfreeze|image|video|audio|vit|aligner|mm)_/,
    'only text models are trained, with all of their layers or with adapters (lora): leave it out',
  ],
  [
    /^(fsdp|megatron|recompute|moe|overlap|no_save|kt|ddp|deepspeed|expert|accelerator|ds)_|_parallel_size$|_fusion$|_num_(nodes|gpus_per_node)$|^colocate_/,
    'use trl.accelerate_config and trl.num_processes for several GPUs: leave it out',
  ],
  [
    /^(liger|flash_attn|flex_attn|lora_\w+_kernel|dsv4|llama4|gemma4|nvfp4|fp8)_?/,
    'it cannot be set: the backend chooses attention and kernels: leave it out',
  ],
  [
    /^(wandb|swanlab|comet|mlflow|trackio|otel)_/,
    'trackers: [tensorboard], [mlflow], [wandb] or [trackio] shows runs; the variables of their libraries set the rest: leave it out',
  ],
  [
    /^(vllm|sglang|lmdeploy)(_|$)/,
    'it cannot be set: backend trl uses TRL’s default, and native has nothing like it: leave it out',
  ],
  [
    /^(chord|fipo|rlsd|sdar|kto|orpo|simpo|cpo|dpo|ppo|gkd|opd|ebft|qat|gptq|awq|bnb|galore|badam|apollo|lisa|relora|reft|llamapro|lora_ga|vera|boft|oft|adalora|eaft|diffusion|jagged_restart|cosine|replay|reroll|streaming|discopop|ld|peft|quantization|quant|model_quantization)(_|$)/,
    'there is nothing like it here: leave it out',
  ],
];

/** The hint for a name in a group; undefined if it belongs to none. */
export function familyName(name: string): string | undefined {
  return families.find(([names]) => names.test(name))?.[1];
}
