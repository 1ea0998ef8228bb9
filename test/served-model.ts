// A random Llama with a character-level tokenizer, as a folder on disk: wide enough for our custom operators, and with room for 256 tokens.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { characterTokenizerJson } from '../demo/character-tokenizer.ts';
import { writeRandomModel } from './random-model.ts';
import { alphabet } from './tiny-model.ts';

const config = {
  model_type: 'llama',
  architectures: ['LlamaForCausalLM'],
  hidden_act: 'silu',
  tie_word_embeddings: true,
  hidden_size: 128,
  intermediate_size: 256,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  vocab_size: 64,
  max_position_embeddings: 256,
  rope_theta: 1e4,
  rms_norm_eps: 1e-6,
  eos_token_id: 2,
};

export function writeServedModel(folder: string): string {
  writeRandomModel(folder, config);
  const tokenizer = characterTokenizerJson(alphabet.slice(0, config.vocab_size - 3), ['<unk>', '<s>', '</s>']);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const roles = { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(roles));
  return folder;
}
