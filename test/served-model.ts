// A random Llama with a character-level tokenizer, as a folder on disk: wide enough for our custom operators, and with room for 256 tokens.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { characterTokenizerJson } from '../demo/character-tokenizer.ts';
import { writeRandomModel } from './random-model.ts';
import { alphabet } from './tiny-model.ts';
import { wideConfig } from './wide-model.ts';

const config = { ...wideConfig, vocab_size: 64, max_position_embeddings: 256 };

export function writeServedModel(folder: string): string {
  writeRandomModel(folder, config);
  const tokenizer = characterTokenizerJson(alphabet.slice(0, config.vocab_size - 3), ['<unk>', '<s>', '</s>']);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const roles = { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(roles));
  return folder;
}
