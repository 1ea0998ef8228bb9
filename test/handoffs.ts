// What the tests of hand-offs share: a configuration, its model and its data, and how refusals are tried.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../src/config/schema.ts';
import { writeTinyChatModel } from './tiny-model.ts';

export const handoffConfig: ConfigInput = {
  model: './chat',
  dataset: './data.jsonl',
  system_prompt: 'Be brief.',
  reward: 'numeric_match',
  max_steps: 4,
  max_completion_length: 16,
};

/** Writes the model and the 20 rows that the configuration names. */
export function writeHandoffInputs(folder: string): void {
  writeTinyChatModel(join(folder, 'chat'));
  const row = (i: number) => `${JSON.stringify({ question: `${i} + 1?`, answer: i + 1, deep: [{ i }] })}\n`;
  writeFileSync(join(folder, 'data.jsonl'), Array.from({ length: 20 }, (_, i) => row(i)).join(''));
}

/** Writes another model, whose config.json says that its weights have 4 bits; returns its path in the configuration. */
export function writeQuantizedModel(folder: string): string {
  const model = writeTinyChatModel(join(folder, 'quantized'));
  const file = join(model, 'config.json');
  const quantization_config = { quant_method: 'bitsandbytes', load_in_4bit: true };
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), quantization_config }));
  return './quantized';
}

/** What is refused: changes to the configuration, the first key that the error names, and what it says. */
export type Refusal = readonly [changes: ConfigInput, path: string, message: RegExp];

export async function assertRefused(
  handOver: (changes: ConfigInput) => Promise<unknown>,
  refusals: readonly Refusal[],
): Promise<void> {
  for (const [changes, path, message] of refusals) {
    await assert.rejects(handOver(changes), (error: { code: string; path: string; message: string }) => {
      assert.deepEqual([error.code, error.path], ['HANDOFF_UNSUPPORTED', path], error.message);
      assert.match(error.message, message);
      return true;
    });
  }
}
