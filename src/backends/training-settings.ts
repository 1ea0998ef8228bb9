// The loss and the optimiser that a configuration asks for, for backends whose losses are those of `src/grpo`.
import type { Config } from '../config/schema.ts';
import type { LossSettings } from '../grpo/loss-settings.ts';

/** Loss settings have the same names as configuration keys, except those of the importance sampling correction. */
export function lossSettings(config: Config): LossSettings {
  const correction = {
    mode: config.importance_sampling_mode,
    clip_max: config.importance_sampling_clip_max,
    clip_min: config.importance_sampling_clip_min,
  };
  return { ...config, sampling_correction: correctsSampler(config) ? correction : null };
}

/** Whether the loss weights tokens by trainer / sampler. Dropout, which only the trainer applies, would turn these ratios into noise. */
export function correctsSampler({
  importance_sampling_correction,
  lora,
}: Pick<Config, 'importance_sampling_correction' | 'lora'>): boolean {
  return importance_sampling_correction && !lora?.dropout;
}

/** The settings of AdamW. */
export function optimizerSettings(config: Config) {
  return {
    beta1: config.adam_beta1,
    beta2: config.adam_beta2,
    epsilon: config.adam_epsilon,
    weightDecay: config.weight_decay,
    maxGradNorm: config.max_grad_norm,
  };
}
