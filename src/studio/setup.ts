// Everything that training, evaluating and sampling need, opened from a configuration: the cheap first, so that mistakes show early.

import { type NativeModel, openNativeModel } from '../backends/native/native-model.ts';
import type { Config } from '../config/schema.ts';
import { singleTurn } from '../envs/single-turn.ts';
import { GradusError } from '../errors.ts';
import { type Generator, RolloutGenerator, type RolloutOptions } from '../generation.ts';
import type { LossSettings, LossType } from '../grpo/losses.ts';
import { existingNames } from '../nearest.ts';
import type { Renderer } from '../rendering.ts';
import { weightedRewards } from '../rewards/weighted.ts';
import type { RewardModel } from '../rewards.ts';
import { evaluationMetricNames } from './evaluate-policy.ts';
import { findModel } from './find-model.ts';
import { openRenderer } from './open-renderer.ts';
import { openRewards } from './open-rewards.ts';
import { loadProblems, type Problems, promptOf } from './problems.ts';
import { fitPrompts } from './prompt-lengths.ts';

export interface Setup {
  readonly config: Config;
  readonly problems: Problems;
  readonly model: NativeModel;
  readonly renderer: Renderer;
  readonly rewardModel: RewardModel;
  /** In the order of the configuration; the first decides what is correct. */
  readonly rewardNames: readonly string[];
  /** Plays episodes as training does, but for what `options` say. */
  generator(options?: Partial<RolloutOptions>): Generator;
  dispose(): void;
}

/** Whoever opens a setup disposes of it. */
export async function openSetup(config: Config): Promise<Setup> {
  const { rewards, columns } = await openRewards(config);
  const rewardNames = rewards.map(({ name }) => name);
  assertMetricExists(config, rewardNames);
  const problems = await loadProblems(config, columns);
  const modelPath = findModel(config.model);
  const renderer = openRenderer(modelPath, config.chat_template);
  const model = await openModel(config, modelPath);
  try {
    const prompt = promptOf(config);
    const fitted = fitPrompts(config, problems, {
      prompt,
      renderer,
      contextLength: model.architecture.config.contextLength,
    });
    return {
      config,
      model,
      renderer: fitted.renderer,
      problems: fitted.problems,
      rewardModel: weightedRewards(rewards),
      rewardNames,
      generator: (options) =>
        new RolloutGenerator(singleTurn({ prompt }), fitted.renderer, {
          maxTokens: config.max_completion_length,
          temperature: config.temperature,
          ...options,
        }),
      dispose: () => model.dispose(),
    };
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/** The metric that decides which checkpoint is best must be one that evaluations have. */
function assertMetricExists({ save, eval: evaluation }: Config, rewardNames: readonly string[]): void {
  if (save.best === null || evaluation === null) return;
  const names = evaluationMetricNames(rewardNames, evaluation.k);
  if (names.includes(save.best)) return;
  throw new GradusError('CONFIG_INVALID', `save.best: no evaluation has the metric ${save.best}`, {
    hint: existingNames(save.best, names),
    path: 'save.best',
  });
}

function openModel(config: Config, modelPath: string): Promise<NativeModel> {
  const { lora, native, model: modelName, temperature, seed } = config;
  return openNativeModel({
    modelPath,
    modelName,
    lora: lora && { r: lora.r, alpha: lora.alpha, targetModules: lora.target_modules },
    loss: lossSettings(config),
    temperature,
    optimizer: {
      beta1: config.adam_beta1,
      beta2: config.adam_beta2,
      epsilon: config.adam_epsilon,
      weightDecay: config.weight_decay,
      maxGradNorm: config.max_grad_norm,
    },
    seed,
    device: native.device,
    rolloutDtype: native.rollout_dtype === 'auto' ? 'float32' : native.rollout_dtype,
    ...(native.threads !== 'auto' && { threads: native.threads }),
  });
}

function lossSettings(config: Config): LossSettings {
  return {
    // Others were refused when the configuration was loaded.
    loss_type: config.loss_type as LossType,
    epsilon: config.epsilon,
    epsilon_high: config.epsilon_high,
    delta: config.delta,
    beta: config.beta,
    log_kl: config.log_kl,
    use_bias_correction_kl: true,
    sampling_correction: config.importance_sampling_correction
      ? { mode: config.importance_sampling_mode, clip_max: config.importance_sampling_clip_max }
      : null,
    importance_sampling_level: config.importance_sampling_level,
    max_completion_length: config.max_completion_length,
  };
}
