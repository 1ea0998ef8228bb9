// What each option of `openNativeModel` must be: a device that there is not, for one, would end the process.

import { assertMet, assertOptions, type Demand } from '../../common/option-checks.ts';
import { devices, matmulPrecisions, rolloutDtypes } from '../../config/sections.ts';
import { GradusError } from '../../errors.ts';
import { lossTypes } from '../../grpo/loss-settings.ts';
import type { LossOptions } from '../../grpo/surrogates.ts';
import type { LoraSettings } from '../../models/lora.ts';
import { assertCount } from '../../protocol-checks.ts';
import type { Device } from '../../runtime/device.ts';
import type { MemoryPlan } from './planning/memory-estimate.ts';
import type { RolloutDtype } from './rollout-dtype.ts';
import type { AdamWSettings } from './training/optimizer.ts';

export interface NativeModelOptions {
  /** A folder with config.json and weights, or a .gguf file. */
  readonly modelPath: string;
  /** The name of the base model in adapter files. @default modelPath */
  readonly modelName?: string;
  /** Adapters to train; `null` trains the model's own parameters. */
  readonly lora: LoraSettings | null;
  /** A folder with an adapter in PEFT's format to start from; its settings must be those of `lora`. @default adapters that change nothing */
  readonly adapter?: string;
  /** Without adapters, the parameters to train: parts of names, or one regular expression. @default all */
  readonly trainable?: string | readonly string[] | null;
  /** Settings that differ from `defaultLossSettings`. */
  readonly loss?: Partial<LossOptions>;
  /** The temperature of rollouts; the loss divides the logits by it, too. @default 1 */
  readonly temperature?: number;
  /** Settings that differ from the defaults of `AdamWSettings`. */
  readonly optimizer?: Partial<AdamWSettings>;
  /** Seeds the adapters' initial values and dropout. @default 0 */
  readonly seed?: number;
  /** @default 'cpu' */
  readonly device?: Device;
  /** @default the number of cores available to this process */
  readonly threads?: number;
  /**
   * The type of weights while sampling. Adapters, and parts of a model that are trained alone, stay float32; a model that is trained as a whole is
   * rounded again after each update. `auto`: see `rolloutDtype`. @default 'float32'
   */
  readonly rolloutDtype?: RolloutDtype | 'auto';
  /**
   * The precision of float32 products, under PyTorch's names. `high` may use the processor's bfloat16 units, with a relative error of about 4e-6;
   * `medium` rounds operands while training, with one of up to 3e-3, for updates in less time. @default 'high'
   */
  readonly matmulPrecision?: 'highest' | 'high' | 'medium';
  /** Limits on memory. @default the fastest plan */
  readonly memory?: Partial<MemoryPlan>;
}

const optionDemands: Readonly<Record<keyof NativeModelOptions, Demand>> = {
  modelPath: null,
  modelName: null,
  lora: null,
  adapter: null,
  trainable: null,
  loss: null,
  temperature: null,
  optimizer: null,
  seed: null,
  device: { names: devices },
  threads: null,
  rolloutDtype: { names: rolloutDtypes },
  matmulPrecision: { names: matmulPrecisions },
  memory: null,
};

const loraDemands: Readonly<Record<keyof LoraSettings, Demand>> = {
  r: null,
  alpha: null,
  targetModules: null,
  rankPattern: null,
  alphaPattern: null,
  rslora: null,
  dropout: null,
  modulesToSave: null,
};

const optimizerDemands: Readonly<Record<keyof AdamWSettings, Demand>> = {
  beta1: null,
  beta2: null,
  epsilon: null,
  weightDecay: null,
  maxGradNorm: null,
};

const memoryDemands: Readonly<Record<keyof MemoryPlan, Demand>> = { limits: null, recompute: null, cacheBudget: null };

/** Throws `OPTION_INVALID`. */
export function assertNativeOptions(options: NativeModelOptions): void {
  assertOptions(options, optionDemands);
  const { modelPath, lora, loss, optimizer, memory } = options;
  assertText('modelPath', modelPath);
  if (lora !== null) {
    assertOptions(lora, loraDemands, 'lora');
    assertCount('lora.r', lora.r, 1);
    if (!Array.isArray(lora.targetModules)) assertText('lora.targetModules', lora.targetModules);
  }
  if (loss) assertMet('loss.loss_type', loss.loss_type, { names: lossTypes });
  if (optimizer) assertOptions(optimizer, optimizerDemands, 'optimizer');
  if (memory) assertOptions(memory, memoryDemands, 'memory');
}

function assertText(path: string, value: unknown): void {
  if (typeof value === 'string') return;
  throw new GradusError('OPTION_INVALID', `${path}: expected a text, got ${String(value)}`, {
    hint: 'see NativeModelOptions',
    path,
  });
}
