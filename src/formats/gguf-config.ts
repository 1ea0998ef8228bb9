// Makes a config.json, which GGUF files do not have, from a model's metadata.
import { FormatError } from './format-error.ts';
import { type GgufArchitecture, ggufArchitecture } from './gguf-architectures.ts';
import { type Gemma4Fields, gemma4Fields } from './gguf-gemma4.ts';
import type { TensorFile } from './tensor-file.ts';

/** transformers' names of GGUF's architectures. GGUF's `llama` includes Mistral. */
const huggingFaceTypes = {
  llama: { model_type: 'llama', architectures: ['LlamaForCausalLM'] },
  qwen2: { model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] },
  qwen3: { model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'] },
  gemma3: { model_type: 'gemma3_text', architectures: ['Gemma3ForCausalLM'] },
  gemma4: { model_type: 'gemma4_text', architectures: ['Gemma4ForCausalLM'] },
  smollm3: { model_type: 'smollm3', architectures: ['SmolLM3ForCausalLM'] },
  olmo2: { model_type: 'olmo2', architectures: ['Olmo2ForCausalLM'] },
  granite: { model_type: 'granite', architectures: ['GraniteForCausalLM'] },
  lfm2: { model_type: 'lfm2', architectures: ['Lfm2ForCausalLM'] },
  qwen35: { model_type: 'qwen3_5_text', architectures: ['Qwen3_5ForCausalLM'] },
} as const satisfies Record<GgufArchitecture, object>;

/** GGUF's architecture for models of a `model_type`; `undefined` if it is not supported. */
export function architectureOfType(modelType: string): GgufArchitecture | undefined {
  const stored = modelType === 'mistral' ? 'llama' : modelType;
  const known = Object.keys(huggingFaceTypes) as GgufArchitecture[];
  return known.find((name) => huggingFaceTypes[name].model_type === stored);
}

/** The keys of a config.json that decide what the model computes. */
export interface GgufConfig
  extends Partial<Gemma3Layers>,
    Partial<Omit<Gemma4Fields, 'layer_types'>>,
    Partial<GraniteFactors>,
    Partial<Lfm2Layers>,
    Partial<Qwen35Layers> {
  readonly model_type: (typeof huggingFaceTypes)[GgufArchitecture]['model_type'];
  readonly architectures: readonly string[];
  readonly hidden_act?: 'silu';
  readonly hidden_activation?: 'gelu_pytorch_tanh';
  readonly vocab_size: number;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim: number;
  readonly max_position_embeddings: number;
  readonly rms_norm_eps: number;
  readonly rope_theta: number;
  readonly rope_scaling?: Llama3Scaling | LinearScaling | YarnScaling;
  readonly attention_bias?: true;
  readonly mlp_bias?: true;
  readonly tie_word_embeddings: boolean;
  readonly bos_token_id?: number;
  readonly eos_token_id?: number;
}

/** The scaling of rotary embeddings in Llama 3.1 and later, under transformers' names. */
interface Llama3Scaling {
  readonly rope_type: 'llama3';
  readonly factor: number;
  readonly low_freq_factor: number;
  readonly high_freq_factor: number;
  readonly original_max_position_embeddings: number;
}

interface LinearScaling {
  readonly rope_type: 'linear';
  readonly factor: number;
}

interface YarnScaling {
  readonly rope_type: 'yarn';
  readonly factor: number;
  readonly beta_fast: number;
  readonly beta_slow: number;
  readonly original_max_position_embeddings: number;
}

/** Gemma 3's sliding windows, and the scale of its attention. */
interface Gemma3Layers {
  readonly sliding_window: number;
  /** Layers whose number is a multiple of this attend to everything. */
  readonly sliding_window_pattern: number;
  readonly rope_local_base_freq: number;
  readonly query_pre_attn_scalar: number;
}

/** The factors of a Granite. */
interface GraniteFactors {
  readonly embedding_multiplier: number;
  readonly attention_multiplier: number;
  readonly residual_multiplier: number;
  readonly logits_scaling: number;
}

/** LFM2's layers, and a width of feed-forward blocks that is not reduced. */
interface Lfm2Layers {
  readonly layer_types: readonly ('full_attention' | 'conv' | Gemma4Fields['layer_types'][number])[];
  readonly conv_L_cache: number;
  readonly block_auto_adjust_ff_dim: false;
  readonly norm_eps: number;
}

/** Qwen3.5's delta nets, and how much of a head rotates. */
interface Qwen35Layers {
  readonly full_attention_interval: number;
  readonly partial_rotary_factor: number;
  readonly linear_conv_kernel_dim: number;
  readonly linear_num_key_heads: number;
  readonly linear_num_value_heads: number;
  readonly linear_key_head_dim: number;
  readonly linear_value_head_dim: number;
}

/** Keys of Gradus that record what `ROPE_FACTORS` was computed from; without them it is recovered. */
export const llama3Keys = {
  factor: 'gradus.rope.llama3.factor',
  low: 'gradus.rope.llama3.low_freq_factor',
  high: 'gradus.rope.llama3.high_freq_factor',
  context: 'gradus.rope.llama3.original_context_length',
} as const;

/** The tensor of the divisors of each lane's frequency, [head size / 2], for scaled rotary embeddings. */
export const ROPE_FACTORS = 'rope_freqs.weight';

/**
 * Throws `GGUF_MODEL_UNSUPPORTED` for an unsupported architecture or an unknown scaling of rotary embeddings, `GGUF_KEY_MISSING` if a size is missing.
 * @param ropeFactors the tensor `ROPE_FACTORS`, if the file has it
 */
export function ggufConfig(
  { metadata, tensors }: Pick<TensorFile, 'metadata' | 'tensors'>,
  ropeFactors?: Float32Array,
): GgufConfig {
  const architecture = ggufArchitecture(metadata);
  const optional = (key: string): number | undefined => {
    const value = metadata[key];
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  };
  const number = (key: string, fallback?: number): number => {
    const value = optional(key) ?? fallback;
    if (value === undefined)
      throw new FormatError('GGUF_KEY_MISSING', `the metadata has no number ${JSON.stringify(key)}`);
    return value;
  };
  const own = (key: string, fallback?: number) => number(`${architecture}.${key}`, fallback);
  const hiddenSize = own('embedding_length');
  const heads = own('attention.head_count');
  const keyValueHeads = headsOfLayers(metadata[`${architecture}.attention.head_count_kv`]) ?? [
    own('attention.head_count_kv', heads),
  ];
  const normEpsilon = shortest(own('attention.layer_norm_rms_epsilon'));
  const headSize = own('attention.key_length', hiddenSize / heads);
  const theta = own('rope.freq_base', 10_000);
  const contextLength = own('context_length');
  const gemma4 = architecture === 'gemma4' ? gemma4Fields({ metadata, tensors }, own, ropeFactors) : undefined;
  const scaling = gemma4
    ? undefined
    : ropeFactors
      ? llama3Scaling(ropeFactors, theta, headSize, optional)
      : ropeScaling(metadata[`${architecture}.rope.scaling.type`], (key, fallback) =>
          shortest(own(`rope.scaling.${key}`, fallback)),
        );
  const bos = optional('tokenizer.ggml.bos_token_id');
  const eos = optional('tokenizer.ggml.eos_token_id');
  return {
    ...huggingFaceTypes[architecture],
    ...(architecture === 'gemma3' || gemma4 ? { hidden_activation: 'gelu_pytorch_tanh' } : { hidden_act: 'silu' }),
    vocab_size: own('vocab_size', tensors.get('token_embd.weight')?.shape[0]),
    hidden_size: hiddenSize,
    intermediate_size: gemma4?.intermediate_size ?? own('feed_forward_length'),
    num_hidden_layers: own('block_count') - own('nextn_predict_layers', 0),
    num_attention_heads: heads,
    num_key_value_heads: Math.max(...keyValueHeads),
    head_dim: headSize,
    max_position_embeddings: contextLength,
    rms_norm_eps: normEpsilon,
    rope_theta: theta,
    ...gemma4,
    ...(architecture === 'gemma3' && {
      sliding_window: number('gemma3.attention.sliding_window'),
      // Converters omit settings common to the family, except for Gemma 3's largest model, which reads images and is not supported.
      sliding_window_pattern: number('gemma3.attention.sliding_window_pattern', 6),
      rope_local_base_freq: number('gemma3.rope.freq_base_swa', 10_000),
      query_pre_attn_scalar: headSize,
    }),
    ...(architecture === 'granite' && {
      embedding_multiplier: shortest(own('embedding_scale', 1)),
      attention_multiplier: shortest(own('attention.scale', 1)),
      residual_multiplier: shortest(own('residual_scale', 1)),
      logits_scaling: shortest(own('logit_scale', 1)),
    }),
    ...(architecture === 'lfm2' && {
      layer_types: keyValueHeads.map((count) => (count === 0 ? 'conv' : 'full_attention')),
      conv_L_cache: own('shortconv.l_cache'),
      block_auto_adjust_ff_dim: false,
      norm_eps: normEpsilon,
    }),
    ...(architecture === 'qwen35' && qwen35Layers(own, headSize)),
    ...(scaling && { rope_scaling: scaling }),
    // Qwen 2 always has biases here, and its config.json has no field for them.
    ...(architecture !== 'qwen2' && tensors.has('blk.0.attn_q.bias') && { attention_bias: true }),
    ...(tensors.has('blk.0.ffn_up.bias') && { mlp_bias: true }),
    tie_word_embeddings: !tensors.has('output.weight'),
    ...(bos !== undefined && { bos_token_id: bos }),
    ...(eos !== undefined && { eos_token_id: eos }),
  };
}

/** @param own reads a key of the architecture */
function qwen35Layers(own: (key: string, fallback?: number) => number, headSize: number): Qwen35Layers {
  const valueHeads = own('ssm.time_step_rank');
  return {
    full_attention_interval: own('full_attention_interval', 4),
    partial_rotary_factor: own('rope.dimension_count', headSize / 4) / headSize,
    linear_conv_kernel_dim: own('ssm.conv_kernel'),
    linear_num_key_heads: own('ssm.group_count'),
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: own('ssm.state_size'),
    linear_value_head_dim: own('ssm.inner_size') / valueHeads,
  };
}

/** The heads of each layer, where the file has a list of them. */
function headsOfLayers(value: unknown): number[] | undefined {
  return value instanceof Int32Array || value instanceof Uint32Array ? [...value] : undefined;
}

/** @param read a key of `rope.scaling` */
function ropeScaling(
  type: unknown,
  read: (key: string, fallback?: number) => number,
): LinearScaling | YarnScaling | undefined {
  if (type === undefined || type === 'none') return undefined;
  if (type === 'linear') return { rope_type: type, factor: read('factor') };
  const usual = read('yarn_ext_factor', 1) === 1 && read('yarn_attn_factor', 1) === 1 && read('attn_factor', 1) === 1;
  if (type !== 'yarn' || !usual || read('yarn_log_multiplier', 0) !== 0) throw unknownScaling();
  return {
    rope_type: type,
    factor: read('factor'),
    beta_fast: read('yarn_beta_fast', 32),
    beta_slow: read('yarn_beta_slow', 1),
    original_max_position_embeddings: read('original_context_length'),
  };
}

/**
 * Recovers Llama 3's scaling from its effect on each lane, which is all that most files have. Llama 3.1 to 3.3 differ only in the factor, which the
 * slowest lanes show in full; the other lanes confirm it.
 */
function llama3Scaling(
  factors: Float32Array,
  theta: number,
  headSize: number,
  read: (key: string) => number | undefined,
): Llama3Scaling {
  const factor = shortest(read(llama3Keys.factor) ?? Math.max(...factors));
  const [low, high] = [shortest(read(llama3Keys.low) ?? 1), shortest(read(llama3Keys.high) ?? 4)];
  const context = read(llama3Keys.context) ?? 8192;
  const expected = (lane: number) => {
    const turns = context / (2 * Math.PI * theta ** ((2 * lane) / headSize));
    const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return 1 / ((1 - kept) / factor + kept);
  };
  const fits = factors.every((value, lane) => Math.abs(value - expected(lane)) <= 1e-4 * value);
  if (!fits || factors.length !== headSize / 2) throw unknownScaling();
  return {
    rope_type: 'llama3',
    factor,
    low_freq_factor: low,
    high_freq_factor: high,
    original_max_position_embeddings: context,
  };
}

function unknownScaling(): FormatError {
  return new FormatError(
    'GGUF_MODEL_UNSUPPORTED',
    'its rotary embeddings are scaled in a way that is not known here',
    "put the model's config.json beside the file, and give their folder",
  );
}

/** The shortest decimal that rounds to this float32: 1e-5 for 9.999999747378752e-6, as config.json has it. */
function shortest(float: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(float.toPrecision(digits));
    if (Math.fround(rounded) === float) return rounded;
  }
  return float;
}
