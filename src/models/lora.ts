// Low-rank adapters: which layers carry one, what they start as, and their names in PEFT's files. Hu et al. 2021, arXiv:2106.09685.
import { GradusError, messageOf } from '../errors.ts';
import { shown } from './config-reader.ts';
import type { ParameterSpec } from './layers.ts';

export interface LoraSettings {
  /** Rank. */
  readonly r: number;
  /** The product of the two matrices is scaled by alpha / r. */
  readonly alpha: number;
  /**
   * Every linear layer but the output; or the ends of their names, whole parts of them, for example `q_proj` or `0.mlp.up_proj`;
   * or one regular expression that matches whole names, for example `.*\.self_attn\.[qv]_proj`.
   */
  readonly targetModules: string | readonly string[];
  /** Other ranks for some layers: by the ends of their names, which may be regular expressions; the first that fits holds. */
  readonly rankPattern?: Readonly<Record<string, number>>;
  /** Other values of alpha, likewise. */
  readonly alphaPattern?: Readonly<Record<string, number>>;
  /** Scale by alpha / √r instead: Kalajdzievski 2023, arXiv:2312.03732. @default false */
  readonly rslora?: boolean;
  /** How likely an adapter does not see a number of what its layer reads, while training. @default 0 */
  readonly dropout?: number;
  /** Ends of the names of modules that are trained themselves and saved with the adapters, such as `embed_tokens`. @default none */
  readonly modulesToSave?: readonly string[];
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
  const { targetModules } = settings;
  const targets = typeof targetModules === 'string' ? [targetModules] : targetModules;
  const fits = typeof targetModules === 'string' ? isTarget : endsWith;
  const unknown = targets.find((target) => !linear.some(({ name }) => fits(name, target)));
  if (unknown !== undefined) {
    const known = new Set(linear.map(({ name }) => lastPart(name)));
    throw new GradusError('LORA_TARGET_UNKNOWN', `no layer is called ${unknown}`, {
      path: 'lora.target_modules',
      hint: `this model has ${[...known].join(', ')}; or use all-linear`,
    });
  }
  const saved = settings.modulesToSave ?? [];
  const chosen = linear
    .filter(({ name }) => targets.some((target) => fits(name, target)))
    .filter(({ name }) => !saved.some((module) => name.endsWith(module)));
  return new Map(
    chosen.map(({ name, shape }) => {
      const rank = patternValue(settings.rankPattern, name) ?? settings.r;
      const alpha = patternValue(settings.alphaPattern, name) ?? settings.alpha;
      const adapter: LoraAdapter = {
        a: { name: `${name}.lora_A.weight`, shape: [rank, shape[1]!] },
        b: { name: `${name}.lora_B.weight`, shape: [shape[0]!, rank] },
        scale: alpha / (settings.rslora ? Math.sqrt(rank) : rank),
      };
      return [name, adapter];
    }),
  );
}

const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
const endsWith = (name: string, target: string) => name === target || name.endsWith(`.${target}`);
const isTarget = (name: string, target: string) => target === 'all-linear' || matchesWhole(name, target);

/** Whether a regular expression matches all of a name. `key` is the setting that it comes from. */
export function matchesWhole(name: string, source: string, key = 'lora.target_modules'): boolean {
  try {
    return new RegExp(`^(?:${source})$`).test(name);
  } catch (cause) {
    throw new GradusError('LORA_TARGET_UNKNOWN', `${source} is no regular expression: ${messageOf(cause)}`, {
      path: key,
      hint: 'one text is a regular expression; several names are a list: [q_proj, v_proj]',
      cause,
    });
  }
}

function patternValue(pattern: Readonly<Record<string, number>> = {}, name: string): number | undefined {
  return Object.entries(pattern).find(([key]) => matchesWhole(name, `(?:.*\\.)?(?:${key})`))?.[1];
}

/** The name of an adapter matrix in PEFT's adapter_model.safetensors. */
export function peftName(matrix: string): string {
  return `base_model.model.${matrix}`;
}

/** PEFT's adapter_config.json. */
export function peftConfig(
  settings: LoraSettings,
  adapters: LoraAdapters,
  { name, tiedEmbeddings }: { readonly name: string; readonly tiedEmbeddings: boolean },
): Record<string, unknown> {
  const { targetModules, rankPattern = {}, alphaPattern = {}, rslora = false, dropout = 0, modulesToSave } = settings;
  const [, base = name, revision = null] = /^([\w.-]+\/[\w.-]+)@(.+)$/.exec(name) ?? [];
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: base,
    revision,
    r: settings.r,
    lora_alpha: settings.alpha,
    rank_pattern: rankPattern,
    alpha_pattern: alphaPattern,
    lora_dropout: dropout,
    // PEFT knows all-linear too, but means by it what the base model has, not what carries an adapter.
    target_modules:
      targetModules === 'all-linear' ? [...new Set([...adapters.keys()].map(lastPart))].sort() : targetModules,
    bias: 'none',
    fan_in_fan_out: false,
    use_rslora: rslora,
    modules_to_save: modulesToSave && modulesToSave.length > 0 ? modulesToSave : null,
    // Without it PEFT trains and loads a copy of the embeddings, and leaves the output layer as it was.
    ensure_weight_tying: tiedEmbeddings && (modulesToSave ?? []).length > 0,
    inference_mode: true,
  };
}

/** The settings that an adapter_config.json, of PEFT's or ours, tells. Throws `ADAPTER_UNSUPPORTED` for what the adapter does beyond them. */
export function peftSettings(json: Readonly<Record<string, unknown>>): LoraSettings {
  const unsupported = (what: string) =>
    new GradusError('ADAPTER_UNSUPPORTED', `adapter_config.json: ${what} is not supported`, {
      hint: 'merge the adapter into its base with PEFT, and open the result',
    });
  if (json.peft_type !== 'LORA') throw unsupported(`peft_type ${shown(json.peft_type)}`);
  if (json.bias !== undefined && json.bias !== 'none') throw unsupported(`bias ${shown(json.bias)}`);
  const beyond = [
    ...['use_dora', 'use_qalora', 'use_bdlora', 'lora_bias', 'fan_in_fan_out', 'exclude_modules'],
    ...['layers_to_transform', 'target_parameters', 'trainable_token_indices', 'layer_replication'],
  ];
  const used = beyond.find((field) => json[field] && String(json[field]) !== '');
  if (used) throw unsupported(used);
  const { r, lora_alpha: alpha, target_modules: targetModules, modules_to_save: modulesToSave } = json;
  const isTexts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((target) => typeof target === 'string');
  if (
    typeof r !== 'number' ||
    typeof alpha !== 'number' ||
    !(typeof targetModules === 'string' || isTexts(targetModules))
  ) {
    throw new GradusError('CHECKPOINT_INVALID', 'adapter_config.json lacks r, lora_alpha or target_modules', {
      hint: 'the adapter may be damaged; fetch it again',
    });
  }
  return {
    ...{ r, alpha, targetModules },
    rankPattern: (json.rank_pattern ?? {}) as Record<string, number>,
    alphaPattern: (json.alpha_pattern ?? {}) as Record<string, number>,
    rslora: json.use_rslora === true,
    dropout: typeof json.lora_dropout === 'number' ? json.lora_dropout : 0,
    modulesToSave: isTexts(modulesToSave) ? modulesToSave : [],
  };
}
