// Makes a config.json, which GGUF files do not have, from a model's metadata.
import { FormatError } from './format-error.ts';
import type { TensorFile } from './tensor-file.ts';

/** GGUF's architectures that are read, and what transformers calls them. GGUF's `llama` includes Mistral. */
const architectures = {
  llama: { model_type: 'llama', architectures: ['LlamaForCausalLM'], hidden_act: 'silu' },
  qwen2: { model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'], hidden_act: 'silu' },
  qwen3: { model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'], hidden_act: 'silu' },
  gemma3: { model_type: 'gemma3_text', architectures: ['Gemma3ForCausalLM'], hidden_activation: 'gelu_pytorch_tanh' },
} as const;
type GgufArchitecture = keyof typeof architectures;
const architecturesInFile = Object.keys(architectures) as GgufArchitecture[];

/** The keys of a config.json that decide what the model computes. */
export interface GgufConfig extends Partial<Gemma3Layers> {
  readonly model_type: (typeof architectures)[GgufArchitecture]['model_type'];
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
  readonly rope_scaling?: Llama3Scaling;
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

/** Gemma 3's sliding windows, and the scale of its attention. */
interface Gemma3Layers {
  readonly sliding_window: number;
  /** Layers whose number is a multiple of this attend to everything. */
  readonly sliding_window_pattern: number;
  readonly rope_local_base_freq: number;
  readonly query_pre_attn_scalar: number;
}

/** The tensor of the divisors of each lane's frequency, [head size / 2], for scaled rotary embeddings. */
export const ROPE_FACTORS = 'rope_freqs.weight';

/**
 * Throws `GGUF_MODEL_UNSUPPORTED` for an unsupported architecture or a scaling of rotary embeddings other than Llama 3's, `GGUF_KEY_MISSING` if
 * a size is missing.
 * @param ropeFactors the tensor `ROPE_FACTORS`, if the file has it
 */
export function ggufConfig(
  { metadata, tensors }: Pick<TensorFile, 'metadata' | 'tensors'>,
  ropeFactors?: Float32Array,
): GgufConfig {
  const found = metadata['general.architecture'];
  const architecture = architecturesInFile.find((known) => known === found);
  if (!architecture) {
    throw new FormatError(
      'GGUF_MODEL_UNSUPPORTED',
      `the architecture ${JSON.stringify(found) ?? 'absent'} is not supported`,
      `use a GGUF of a dense model: ${architecturesInFile.join(', ')}`,
    );
  }
  if ((metadata[`${architecture}.rope.scaling.type`] ?? 'none') !== 'none') throw unknownScaling();

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
  const hiddenSize = number(`${architecture}.embedding_length`);
  const heads = number(`${architecture}.attention.head_count`);
  const headSize = number(`${architecture}.attention.key_length`, hiddenSize / heads);
  const theta = number(`${architecture}.rope.freq_base`, 10_000);
  const bos = optional('tokenizer.ggml.bos_token_id');
  const eos = optional('tokenizer.ggml.eos_token_id');
  return {
    ...architectures[architecture],
    vocab_size: number(`${architecture}.vocab_size`, tensors.get('token_embd.weight')?.shape[0]),
    hidden_size: hiddenSize,
    intermediate_size: number(`${architecture}.feed_forward_length`),
    num_hidden_layers: number(`${architecture}.block_count`),
    num_attention_heads: heads,
    num_key_value_heads: number(`${architecture}.attention.head_count_kv`, heads),
    head_dim: headSize,
    max_position_embeddings: number(`${architecture}.context_length`),
    rms_norm_eps: shortest(number(`${architecture}.attention.layer_norm_rms_epsilon`)),
    rope_theta: theta,
    ...(architecture === 'gemma3' && {
      sliding_window: number('gemma3.attention.sliding_window'),
      // Converters leave out what all models of the family have in common, except from Gemma 3's largest, which has images and is not read.
      sliding_window_pattern: number('gemma3.attention.sliding_window_pattern', 6),
      rope_local_base_freq: number('gemma3.rope.freq_base_swa', 10_000),
      query_pre_attn_scalar: headSize,
    }),
    ...(ropeFactors && { rope_scaling: llama3Scaling(ropeFactors, theta, headSize) }),
    tie_word_embeddings: !tensors.has('output.weight'),
    ...(bos !== undefined && { bos_token_id: bos }),
    ...(eos !== undefined && { eos_token_id: eos }),
  };
}

/**
 * Recovers the scaling from its effect on each lane, which is all that the file has. Llama 3.1 to 3.3 differ only in the factor, which the slowest
 * lanes show in full; the other lanes confirm it.
 */
function llama3Scaling(factors: Float32Array, theta: number, headSize: number): Llama3Scaling {
  const factor = shortest(Math.max(...factors));
  const [low, high, context] = [1, 4, 8192];
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
    'its rotary embeddings are scaled, and the file does not say how',
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
