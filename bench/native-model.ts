// The model for benchmarks of the engine alone: SmolLM2 with adapters of rank 16 on every linear layer, without a run.
import { type NativeModel, openNativeModel } from '../src/backends/native/native-model.ts';
import type { NativeModelOptions } from '../src/backends/native/native-options.ts';

export function openWithAdapters(
  modelPath: string,
  options: Pick<NativeModelOptions, 'adapter' | 'matmulPrecision' | 'rolloutDtype' | 'threads'>,
): Promise<NativeModel> {
  return openNativeModel({
    modelPath,
    lora: { r: 16, alpha: 32, targetModules: 'all-linear' },
    ...options,
  });
}
