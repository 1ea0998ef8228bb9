// The native backend: a language model in this process, sampled from and trained by ONNX Runtime.
import type { Config } from '../../config/schema.ts';
import type { LossSettings, LossType } from '../../grpo/losses.ts';
import { loadOnnxRuntime } from '../../runtime/onnxruntime.ts';
import type { Backend } from '../backend.ts';
import { findModel } from '../find-model.ts';
import { openModelText } from '../open-renderer.ts';
import { openModelFiles } from './model-files.ts';
import { type NativeModel, openNativeModel } from './native-model.ts';

export const nativeBackend: Backend = {
  versions: () => ({ onnxruntime: loadOnnxRuntime().version }),
  async describe(config) {
    const modelPath = pathOf(config);
    const text = openModelText(modelPath, config.chat_template);
    const files = await openModelFiles(modelPath);
    await files.close();
    return { ...text, contextLength: files.architecture.config.contextLength };
  },
  async open(config) {
    const modelPath = pathOf(config);
    const text = openModelText(modelPath, config.chat_template);
    const model = await openModel(config, modelPath);
    return { ...text, model, contextLength: model.architecture.config.contextLength };
  },
};

function pathOf({ model }: Config): string {
  // The configuration was refused if it names no model.
  return findModel(model!);
}

function openModel(config: Config, modelPath: string): Promise<NativeModel> {
  const { lora, native, model: modelName, temperature, seed } = config;
  return openNativeModel({
    modelPath,
    modelName: modelName!,
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
