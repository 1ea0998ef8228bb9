// A random Llama that is wide enough for our custom operators, as a folder on disk without a tokenizer.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { safetensorsHeader } from '../src/formats/safetensors.ts';
import { architectureOf } from '../src/models/families.ts';
import { randomStream } from '../src/random.ts';
import { volume } from '../src/tensor/shape.ts';

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
  vocab_size: 160,
  max_position_embeddings: 64,
  rope_theta: 1e4,
  rms_norm_eps: 1e-6,
  eos_token_id: 2,
};

/** The number of tokens that it knows. */
export const wideVocabulary = config.vocab_size;

export function writeWideModel(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const parameters = architectureOf(config).parameters.map((each) => ({ ...each, dtype: 'F32' as const }));
  const { bytes, order } = safetensorsHeader(parameters, { format: 'pt' });
  const random = randomStream(0);
  const weights = order.map(({ shape, kind }) => {
    const values = Float32Array.from({ length: volume(shape) }, () => (kind === 'norm' ? 1 : 0.1 * random.normal()));
    return new Uint8Array(values.buffer);
  });
  writeFileSync(join(folder, 'model.safetensors'), Buffer.concat([bytes, ...weights]));
  return folder;
}
