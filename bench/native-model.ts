// The model that benchmarks of the engine alone measure: SmolLM2 with adapters of rank 16 on every linear layer, without a run around it.
import { type NativeModel, type NativeModelOptions, openNativeModel } from '../src/backends/native/native-model.ts';
import { defaultLossSettings } from '../src/grpo/loss-settings.ts';

export function openWithAdapters(
  modelPath: string,
  options: Pick<NativeModelOptions, 'rolloutDtype' | 'threads'>,
): Promise<NativeModel> {
  return openNativeModel({
    modelPath,
    lora: { r: 16, alpha: 32, targetModules: 'all-linear' },
    loss: defaultLossSettings,
    temperature: 1,
    optimizer: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1 },
    seed: 0,
    ...options,
  });
}
