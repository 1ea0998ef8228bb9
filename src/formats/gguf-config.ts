// The config.json that a Llama in GGUF does not have, made from its metadata.
import { FormatError } from './format-error.ts';
import type { TensorFile } from './tensor-file.ts';

/** The keys of a Hugging Face `LlamaConfig` that decide what the model computes. */
export interface GgufLlamaConfig {
  readonly model_type: 'llama';
  readonly hidden_act: 'silu';
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
  readonly tie_word_embeddings: boolean;
  readonly bos_token_id?: number;
  readonly eos_token_id?: number;
}

/** Throws `GGUF_MODEL_UNSUPPORTED` for another architecture or scaled rotary embeddings, `GGUF_KEY_MISSING` where a size is missing. */
export function ggufLlamaConfig({ metadata, tensors }: Pick<TensorFile, 'metadata' | 'tensors'>): GgufLlamaConfig {
  const architecture = metadata['general.architecture'];
  if (architecture !== 'llama') throw unsupported(`its architecture is ${JSON.stringify(architecture)}`);
  const scaling = metadata['llama.rope.scaling.type'] ?? 'none';
  if (scaling !== 'none' || tensors.has('rope_freqs.weight')) throw unsupported('its rotary embeddings are scaled');

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
  const hiddenSize = number('llama.embedding_length');
  const heads = number('llama.attention.head_count');
  const bos = optional('tokenizer.ggml.bos_token_id');
  const eos = optional('tokenizer.ggml.eos_token_id');
  return {
    model_type: 'llama',
    hidden_act: 'silu',
    vocab_size: number('llama.vocab_size', tensors.get('token_embd.weight')?.shape[0]),
    hidden_size: hiddenSize,
    intermediate_size: number('llama.feed_forward_length'),
    num_hidden_layers: number('llama.block_count'),
    num_attention_heads: heads,
    num_key_value_heads: number('llama.attention.head_count_kv', heads),
    head_dim: number('llama.attention.key_length', hiddenSize / heads),
    max_position_embeddings: number('llama.context_length'),
    rms_norm_eps: shortest(number('llama.attention.layer_norm_rms_epsilon')),
    rope_theta: number('llama.rope.freq_base', 10_000),
    tie_word_embeddings: !tensors.has('output.weight'),
    ...(bos !== undefined && { bos_token_id: bos }),
    ...(eos !== undefined && { eos_token_id: eos }),
  };
}

/** The shortest decimal that rounds to this float32: 1e-5 for 9.999999747378752e-6, as config.json has it. */
function shortest(float: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(float.toPrecision(digits));
    if (Math.fround(rounded) === float) return rounded;
  }
  return float;
}

function unsupported(reason: string): FormatError {
  return new FormatError(
    'GGUF_MODEL_UNSUPPORTED',
    `the file is no plain Llama: ${reason}`,
    'use a GGUF of a Llama model',
  );
}
