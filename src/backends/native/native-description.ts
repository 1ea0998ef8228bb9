// What a native model is, and what training it would take, from the headers of its files.
import { availableParallelism } from 'node:os';
import type { Config } from '../../config/schema.ts';
import { loraAdapters } from '../../models/lora.ts';
import type { ModelDescription } from '../backend.ts';
import { openModelText } from '../open-renderer.ts';
import { memoryEstimate, parameterCount } from './memory-estimate.ts';
import { readArchitecture } from './model-files.ts';
import { timeEstimate } from './time-estimate.ts';

/** Reads no weight and compiles nothing. */
export async function describeNativeModel(config: Config, modelPath: string): Promise<ModelDescription> {
  const text = await openModelText(modelPath, config.chat_template);
  const architecture = await readArchitecture(modelPath);
  const { lora, native, num_iterations, beta, log_kl } = config;
  const full = lora === null;
  const base = parameterCount(architecture.parameters);
  const adapters = full
    ? []
    : [...loraAdapters(architecture.parameters, { ...lora, targetModules: lora.target_modules }).values()];
  const trainable = full ? base : parameterCount(adapters.flatMap(({ a, b }) => [a, b]));
  const threads = native.threads === 'auto' ? availableParallelism() : native.threads;
  const rolloutDtype = native.rollout_dtype === 'auto' ? 'float32' : native.rollout_dtype;
  const scoringPasses = beta > 0 || log_kl ? 0.5 : 0;
  return {
    ...text,
    contextLength: architecture.config.contextLength,
    architecture,
    parameters: { total: base + (full ? 0 : trainable), trainable },
    device: native.device === 'cpu' ? `cpu, ${threads} threads` : native.device,
    memory: (workload) => memoryEstimate(architecture, { trainable, full, rolloutDtype }, workload),
    time(workload) {
      const { update, ...times } = timeEstimate(architecture, { full, threads, scoringPasses }, workload);
      return { ...times, update: update * num_iterations };
    },
  };
}
