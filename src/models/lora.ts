// Low-rank adapters: which layers carry one, what they start as, and their names in PEFT's files. Hu et al. 2021, arXiv:2106.09685.
import { GradusError } from '../errors.ts';
import type { ParameterSpec } from './layers.ts';

export interface LoraSettings {
  /** Rank. */
  readonly r: number;
  /** The product of the two matrices is scaled by alpha / r. */
  readonly alpha: number;
  /** Every linear layer but the output, or the last parts of their names, for example `q_proj`. */
  readonly targetModules: 'all-linear' | readonly string[];
}

export interface AdapterMatrix {
  readonly name: string;
  readonly shape: readonly [number, number];
}

/** y gains scale · (x Aᵀ) Bᵀ; A is [r, in], B is [out, r]. */
export interface LoraAdapter {
  readonly a: AdapterMatrix;
  readonly b: AdapterMatrix;
  readonly scale: number;
}

/** Adapters by the name of their layer, for example `model.layers.0.self_attn.q_proj`. */
export type LoraAdapters = ReadonlyMap<string, LoraAdapter>;

/** The adapters that settings ask of a model. Target modules that no layer has are an error. */
export function loraAdapters(parameters: readonly ParameterSpec[], settings: LoraSettings): LoraAdapters {
  const linear = parameters
    .filter(({ kind }) => kind === 'linear')
    .map(({ name, shape }) => ({ name: name.replace(/\.weight$/, ''), shape }));
  const targets = settings.targetModules;
  const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
  if (targets !== 'all-linear') {
    const known = new Set(linear.map(({ name }) => lastPart(name)));
    const unknown = targets.find((target) => !known.has(target));
    if (unknown !== undefined) {
      throw new GradusError('LORA_TARGET_UNKNOWN', `no layer is called ${unknown}`, {
        path: 'lora.target_modules',
        hint: `this model has ${[...known].join(', ')}; or use all-linear`,
      });
    }
  }
  const chosen = linear.filter(({ name }) => targets === 'all-linear' || targets.includes(lastPart(name)));
  return new Map(
    chosen.map(({ name, shape }) => [
      name,
      {
        a: { name: `${name}.lora_A.weight`, shape: [settings.r, shape[1]!] },
        b: { name: `${name}.lora_B.weight`, shape: [shape[0]!, settings.r] },
        scale: settings.alpha / settings.r,
      },
    ]),
  );
}

/** The name of an adapter matrix in PEFT's adapter_model.safetensors. */
export function peftName(matrix: string): string {
  return `base_model.model.${matrix}`;
}

/** PEFT's adapter_config.json. */
export function peftConfig(settings: LoraSettings, adapters: LoraAdapters, baseModel: string): Record<string, unknown> {
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModel,
    r: settings.r,
    lora_alpha: settings.alpha,
    lora_dropout: 0,
    target_modules: [...new Set([...adapters.keys()].map((name) => name.slice(name.lastIndexOf('.') + 1)))].sort(),
    bias: 'none',
    fan_in_fan_out: false,
    use_rslora: false,
    inference_mode: true,
  };
}
