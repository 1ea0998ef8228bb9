// What each option of `openNativeModel` must be: a device that there is not, for one, would end the process.
import { devices, matmulPrecisions, rolloutDtypes } from '../../config/sections.ts';
import { GradusError } from '../../errors.ts';
import { lossTypes } from '../../grpo/loss-settings.ts';
import type { LoraSettings } from '../../models/lora.ts';
import { assertMet, assertOptions, type Demand } from '../../option-checks.ts';
import { assertCount } from '../../protocol-checks.ts';
import type { NativeModelOptions } from './native-model.ts';
import type { MemoryPlan } from './planning/memory-plan.ts';
import type { AdamWSettings } from './training/optimizer.ts';

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
