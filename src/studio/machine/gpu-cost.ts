// Estimates the time and cost of training on a rented GPU, by the formula in docs/gpu.md. No prices are requested from anyone.
import { named } from '../../nearest.ts';

export interface GpuWork {
  readonly steps: number;
  /** Of the whole model. */
  readonly parameters: number;
  /** Read and written in one step. */
  readonly tokensPerStep: number;
  /** Of one completion, at most. */
  readonly completionTokens: number;
  readonly useVllm: boolean;
  /** Seconds after which the machine is given back, whatever has happened. */
  readonly timeout: number;
}

export interface GpuCost {
  readonly gpu: string;
  readonly hours: number;
  readonly usd: number;
  /** What the time limit lets it cost. */
  readonly usd_at_most: number;
  readonly usd_per_hour: number;
}

interface RentedGpu {
  /** Modal's list price, May 2026. */
  readonly usdPerHour: number;
  /** Of dense bfloat16 (T4: float16) multiplications, a second. */
  readonly flops: number;
  /** Bytes a second. */
  readonly bandwidth: number;
}

/** By the names that configurations give them; speeds from NVIDIA's data sheets. */
const rented: Readonly<Record<string, RentedGpu>> = {
  T4: { usdPerHour: 0.59, flops: 65e12, bandwidth: 320e9 },
  L4: { usdPerHour: 0.8, flops: 121e12, bandwidth: 300e9 },
  A10G: { usdPerHour: 1.1, flops: 70e12, bandwidth: 600e9 },
  L40S: { usdPerHour: 1.95, flops: 362e12, bandwidth: 864e9 },
  'A100-40GB': { usdPerHour: 2.1, flops: 312e12, bandwidth: 1555e9 },
  'A100-80GB': { usdPerHour: 2.5, flops: 312e12, bandwidth: 2039e9 },
  H100: { usdPerHour: 3.95, flops: 989e12, bandwidth: 3350e9 },
  H200: { usdPerHour: 4.54, flops: 989e12, bandwidth: 4800e9 },
};

/** Seconds until the first step: the container starts, packages and weights are loaded. */
export const rentalStart = 180;
/** Seconds that sampling one token of every completion takes at least, in Python: transformers' generate, or vLLM. */
const slowestToken = { transformers: 0.03, vllm: 0.008 };
/** Part of a GPU's multiplications that training makes use of. */
const utilisation = 0.3;
/** Forward 2, again for gradient checkpointing 2, backward 4: multiplications and additions of a parameter and a token. */
const flopsPerParameterAndToken = 8;
const bytesPerParameter = 2;

export const rentedGpus: readonly string[] = Object.keys(rented);

/** `H100:2` is two of them. */
export function splitGpu(gpu: string): { readonly name: string; readonly count: number } {
  const [name, count = '1'] = gpu.split(':') as [string, string?];
  return { name, count: Number(count) };
}

/** `undefined` for a GPU that is not known. Several cost more; that they are faster is not counted on. */
export function gpuCost(gpu: string, work: GpuWork): GpuCost | undefined {
  const { name, count } = splitGpu(gpu);
  const machine = named(rented, name);
  if (!machine) return undefined;
  const perToken = Math.max(
    slowestToken[work.useVllm ? 'vllm' : 'transformers'],
    (bytesPerParameter * work.parameters) / machine.bandwidth,
  );
  const sampling = work.completionTokens * perToken;
  const learning = (flopsPerParameterAndToken * work.parameters * work.tokensPerStep) / (utilisation * machine.flops);
  const seconds = rentalStart + work.steps * (sampling + learning);
  const usdPerHour = count * machine.usdPerHour;
  const usd = (time: number) => (time / 3600) * usdPerHour;
  return {
    gpu,
    hours: seconds / 3600,
    usd: usd(seconds),
    usd_at_most: usd(work.timeout),
    usd_per_hour: usdPerHour,
  };
}
