// Decides whether our own operators compute a model's matrix products and attention.
import type { Config } from '../../config/schema.ts';
import { GradusError } from '../../errors.ts';
import { kernelLibrary, missingForKernels } from '../../runtime/kernels.ts';
import type { CompileOptions } from './compiled-graph.ts';
import type { NativeModelOptions } from './native-model.ts';

type ProductOptions = Pick<NativeModelOptions, 'device' | 'matmulPrecision' | 'rolloutDtype'>;

/** What a configuration says about matrix products. */
export function productOptions({ native }: Config) {
  return {
    device: native.device,
    rolloutDtype: native.rollout_dtype === 'auto' ? 'float32' : native.rollout_dtype,
    matmulPrecision: native.matmul_precision,
  } as const;
}

/** Empty where ONNX Runtime's own products are used. Throws `BFLOAT16_NOT_READY` if rollouts need our operator and it cannot be used. */
export function kernelOptions({
  device = 'cpu',
  matmulPrecision = 'high',
  rolloutDtype,
}: ProductOptions): Pick<CompileOptions, 'kernels'> {
  const found = chosen(device, matmulPrecision);
  if ('library' in found) return { kernels: found.library };
  if (rolloutDtype === 'bfloat16') {
    throw new GradusError(
      'BFLOAT16_NOT_READY',
      `native.rollout_dtype: bfloat16 cannot be used here: ${found.missing}`,
      {
        hint: 'set native.rollout_dtype to auto, or to int8 for faster rollouts',
        path: 'native.rollout_dtype',
        kind: 'not_ready',
      },
    );
  }
  return {};
}

/** Whether our own operators will probably be used: estimates compile nothing. */
export function expectsKernels({ device = 'cpu', matmulPrecision = 'high' }: ProductOptions): boolean {
  return refusal(device, matmulPrecision) === undefined && missingForKernels() === undefined;
}

function chosen(device: string, matmulPrecision: string): ReturnType<typeof kernelLibrary> {
  const missing = refusal(device, matmulPrecision);
  return missing === undefined ? kernelLibrary() : { missing };
}

function refusal(device: string, matmulPrecision: string): string | undefined {
  if (device !== 'cpu') return `native.device is ${device}`;
  return matmulPrecision === 'highest' ? 'native.matmul_precision is highest' : undefined;
}
