// Low-rank adapters (Hu et al. 2021, arXiv:2106.09685): which layers have one, and their names and settings in PEFT's files.
import { GradusError, messageOf } from '../errors.ts';
import { shown } from './config-reader.ts';
import type { ParameterSpec } from './layers.ts';

export interface LoraSettings {
  /** Rank. */
  readonly r: number;
  /** The product of the two matrices is scaled by alpha / r. */
  readonly alpha: number;
  /**
   * The layers with adapters: `all-linear` for every linear layer except the output; or a list of suffixes of names, in whole parts,
   * for example `q_proj` or `0.mlp.up_proj`; or one regular expression that matches whole names, for example `.*\.self_attn\.[qv]_proj`.
   */
  readonly targetModules: string | readonly string[];
  /** Other ranks for some layers, by suffixes of their names or regular expressions for them. The first that matches counts. */
  readonly rankPattern?: Readonly<Record<string, number>>;
  /** Other values of alpha, in the same form. */
  readonly alphaPattern?: Readonly<Record<string, number>>;
  /** Scale by alpha / √r instead: Kalajdzievski 2023, arXiv:2312.03732. @default false */
  readonly rslora?: boolean;
  /** The probability with which an adapter drops an element of its input while training. @default 0 */
  readonly dropout?: number;
  /** Modules, by suffixes of their names, that are trained completely and saved with the adapters, such as `embed_tokens`. @default none */
  readonly modulesToSave?: readonly string[];
}

export interface AdapterMatrix {
  readonly name: string;
  readonly shape: readonly [number, number];
}

/** Adds scale · (x Aᵀ) Bᵀ to a layer's output; A is [r, in], B is [out, r]. */
export interface LoraAdapter {
  readonly a: AdapterMatrix;
  readonly b: AdapterMatrix;
  readonly scale: number;
}

/** Adapters by the names of their layers, for example `model.layers.0.self_attn.q_proj`. */
export type LoraAdapters = ReadonlyMap<string, LoraAdapter>;

/** The adapters that a model gets with these settings. Throws `LORA_TARGET_UNKNOWN` if a target matches no layer. */
export function loraAdapters(parameters: readonly ParameterSpec[], settings: LoraSettings): LoraAdapters {
  const linear = parameters
    .filter(({ kind }) => kind === 'linear')
    .map(({ name, shape }) => ({ name: name.replace(/\.weight$/, ''), shape }));
  const { targetModules } = settings;
  const isExpression = typeof targetModules === 'string';
  const targets = isExpression ? [targetModules] : targetModules;
  const fits = isExpression ? isTarget : endsWith;
  const unknown = targets.find((target) => !linear.some(({ name }) => fits(name, target)));
  if (unknown !== undefined) {
    const known = new Set(linear.map(({ name }) => lastPart(name)));
    throw new GradusError('LORA_TARGET_UNKNOWN', `no layer is called ${unknown}`, {
      path: 'lora.target_modules',
      hint: `${isExpression ? `one text is a regular expression for whole names: write a list, [${targetModules}]; ` : ''}this model has ${[...known].join(', ')}; or use all-linear`,
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

/** Whether a regular expression matches the whole name. @param key the setting that it comes from, for errors */
export function matchesWhole(name: string, source: string, key = 'lora.target_modules'): boolean {
  try {
    return new RegExp(`^(?:${source})$`).test(name);
  } catch (cause) {
    throw new GradusError('LORA_TARGET_UNKNOWN', `${source} is not a valid regular expression: ${messageOf(cause)}`, {
      path: key,
      hint: 'a single string is read as a regular expression; write names as a list: [q_proj, v_proj]',
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

/** The content of PEFT's adapter_config.json. */
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
    // PEFT would expand all-linear from the base model when it loads the adapter, so we name the layers that have one.
    target_modules:
      targetModules === 'all-linear' ? [...new Set([...adapters.keys()].map(lastPart))].sort() : targetModules,
    bias: 'none',
    fan_in_fan_out: false,
    use_rslora: rslora,
    modules_to_save: modulesToSave && modulesToSave.length > 0 ? modulesToSave : null,
    // Without it, PEFT unties the embeddings: it trains and loads a copy, and leaves the output layer unchanged.
    ensure_weight_tying: tiedEmbeddings && (modulesToSave ?? []).length > 0,
    inference_mode: true,
  };
}

/** The settings in an adapter_config.json. Throws `ADAPTER_UNSUPPORTED` if it uses other features of PEFT, and `CHECKPOINT_INVALID`. */
export function peftSettings(json: Readonly<Record<string, unknown>>): LoraSettings {
  const unsupported = (what: string) =>
    new GradusError('ADAPTER_UNSUPPORTED', `adapter_config.json: ${what} is not supported`, {
      hint: 'merge the adapter into its base with PEFT, and open the result',
    });
  if (json.peft_type !== 'LORA') throw unsupported(`peft_type ${shown(json.peft_type)}`);
  if (json.bias !== undefined && json.bias !== 'none') throw unsupported(`bias ${shown(json.bias)}`);
  const unsupportedFields = [
    'use_dora',
    'use_qalora',
    'use_bdlora',
    'lora_bias',
    'fan_in_fan_out',
    'exclude_modules',
    'layers_to_transform',
    'target_parameters',
    'trainable_token_indices',
    'layer_replication',
  ];
  const used = unsupportedFields.find((field) => json[field] && String(json[field]) !== '');
  if (used) throw unsupported(used);
  const { r, lora_alpha: alpha, target_modules: targetModules, modules_to_save: modulesToSave } = json;
  const isStrings = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((target) => typeof target === 'string');
  if (
    typeof r !== 'number' ||
    typeof alpha !== 'number' ||
    !(typeof targetModules === 'string' || isStrings(targetModules))
  ) {
    throw new GradusError('CHECKPOINT_INVALID', 'adapter_config.json lacks r, lora_alpha or target_modules', {
      hint: 'the adapter may be damaged; download it again',
    });
  }
  return {
    r,
    alpha,
    targetModules,
    rankPattern: (json.rank_pattern ?? {}) as Record<string, number>,
    alphaPattern: (json.alpha_pattern ?? {}) as Record<string, number>,
    rslora: json.use_rslora === true,
    dropout: typeof json.lora_dropout === 'number' ? json.lora_dropout : 0,
    modulesToSave: isStrings(modulesToSave) ? modulesToSave : [],
  };
}
