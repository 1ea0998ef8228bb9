// A random Llama that is wide enough for our custom operators, as a folder on disk without a tokenizer.
import { writeRandomModel } from './random-model.ts';

/** Its configuration. */
export const wideConfig = {
  model_type: 'llama',
  architectures: ['LlamaForCausalLM'],
  hidden_act: 'silu',
  tie_word_embeddings: true,
  hidden_size: 128,
  intermediate_size: 256,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  vocab_size: 160,
  max_position_embeddings: 64,
  rope_theta: 1e4,
  rms_norm_eps: 1e-6,
  eos_token_id: 2,
};

/** The number of tokens that it knows. */
export const wideVocabulary = wideConfig.vocab_size;

export const writeWideModel = (folder: string): string => writeRandomModel(folder, wideConfig);
