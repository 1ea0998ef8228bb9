// GGUF as llama.cpp reads it: blocks that ggml makes, the tokenizers of every kind, and the logits of models of every type.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readGgufMetadata } from '../src/backends/model-files/gguf-file.ts';
import { ggufTokenizer } from '../src/formats/gguf-tokenizer.ts';
import { ggmlTypeNames, ggufElementTypes } from '../src/formats/gguf-types.ts';
import { randomStream } from '../src/random.ts';
import { createTokenizer, type Tokenizer } from '../src/tokenizers/tokenizer.ts';
import { awkwardTexts } from './awkward-texts.ts';
import { decodingLogits } from './decoding-logits.ts';
import { largestDifference, most } from './difference.ts';
import { abridged, type BpeDescription, bytePairVocabulary, sentencePieceVocabulary } from './gguf-vocabulary.ts';
import { openLlamaCpp } from './llama-cpp.ts';
import { readJson } from './native-models.ts';
import { makeParityModels, python } from './parity.ts';
import { sharedPath, skipWithoutShared } from './shared.ts';

const opened = await openLlamaCpp();
const skip = typeof opened === 'string' && opened;
const llamaCpp = () => {
  assert.ok(typeof opened !== 'string');
  return opened;
};
const folder = mkdtempSync(join(tmpdir(), 'gradus-llama-cpp-'));
after(async () => {
  rmSync(folder, { recursive: true });
  if (typeof opened !== 'string') await opened.close();
});

test('blocks that ggml made decode as ggml decodes them, to the bit', { skip }, async (t) => {
  const random = randomStream(5);
  const values = Float32Array.from({ length: 64 * 256 }, () => random.normal());
  for (const [number, name] of ggmlTypeNames) {
    const type = ggufElementTypes.get(name);
    if (!type?.decode || /^F(32|64)$/.test(name)) continue;
    await t.test(name, () => {
      const { bytes, decoded } = llamaCpp().quantize(number, name, values, 256);
      assert.equal(bytes.length, (values.length / type.blockElements) * type.blockBytes);
      const ours = new Float32Array(values.length);
      type.decode!(bytes, ours);
      assert.deepEqual(new Uint32Array(ours.buffer), new Uint32Array(decoded.buffer));
      assert.ok(largestDifference(decoded, values) < 0.1, 'it is what was encoded');
    });
  }
});

describe('tokenizers', { skip }, () => {
  /** llama.cpp knows nothing of the normalisation that is part of Qwen's tokenizer. */
  const normalised = (text: string) => text.normalize('NFC');
  const unfetched = (path: string) => !existsSync(path) && `${path} is not there: run scripts/fetch-tokenizers.ts`;
  const cached = (family: string) => join(import.meta.dirname, '..', '.cache', 'tokenizers', family);
  const smol = 'models/smollm2-135m-instruct';
  const kinds = [
    { pre: 'smollm', from: sharedPath(smol), missing: skipWithoutShared(smol) },
    { pre: 'gpt-2', from: sharedPath(smol), missing: skipWithoutShared(smol) },
    ...[
      { pre: 'llama-bpe', family: 'llama3_1' },
      { pre: 'qwen2', family: 'qwen2_5', change: normalised },
    ].map(({ family, ...kind }) => ({
      ...kind,
      from: cached(family),
      missing: unfetched(cached(family)),
    })),
  ];

  async function compare(path: string, change: (text: string) => string = (text) => text): Promise<Tokenizer> {
    const texts = awkwardTexts(300).map(change);
    const { description, config } = ggufTokenizer(await readGgufMetadata(path));
    const tokenizer = createTokenizer(description, config);
    const expected = await llamaCpp().tokenize(path, texts);
    for (const [i, text] of texts.entries())
      assert.deepEqual(tokenizer.encode(text), expected[i], JSON.stringify(text));
    return tokenizer;
  }

  for (const { pre, from, missing, ...kind } of kinds) {
    test(`byte-level, ${pre}`, { skip: missing }, async () => {
      const path = join(folder, `${pre}.gguf`);
      writeFileSync(path, bytePairVocabulary(abridged(readJson<BpeDescription>(from!, 'tokenizer.json')), pre, {}));
      await compare(path, 'change' in kind ? kind.change : undefined);
    });
  }

  test('SentencePiece', { skip: skipWithoutShared('models/stories260K') }, async (t) => {
    const stories = sharedPath('models/stories260K')!;
    const description = readJson<BpeDescription>(stories, 'tokenizer.json');
    for (const spacePrefix of [true, false]) {
      await t.test(spacePrefix ? 'with a space before' : 'without', async () => {
        const path = join(folder, 'stories.gguf');
        const scores = storiesScores(readFileSync(join(stories, 'tok512.bin')));
        writeFileSync(path, sentencePieceVocabulary(description, scores, spacePrefix, { bosId: 1, eosId: 2 }));
        await compare(path);
      });
    }
  });

  const gemma = cached('gemma3');
  test('SentencePiece, Gemma 3', { skip: unfetched(gemma) }, async () => {
    const path = join(folder, 'gemma.gguf');
    const description = readJson<BpeDescription>(gemma, 'tokenizer.json');
    const added = description.added_tokens.map(({ content }) => content);
    const tokens = new Set([...Object.keys(description.model.vocab), ...added]);
    const scores = Float32Array.from(tokens, (_, id) => -id);
    const ids = { bosId: 2, eosId: 1, unknownId: 3 };
    writeFileSync(path, sentencePieceVocabulary(description, scores, false, ids));
    const tokenizer = await compare(path);
    const original = createTokenizer(description, readJson(gemma, 'tokenizer_config.json'));
    for (const text of awkwardTexts(300)) assert.deepEqual(tokenizer.encode(text), original.encode(text));
  });
});

describe('logits', { skip }, () => {
  const missing = !existsSync(python) && 'python/.venv is not there: run `make test-engines`';
  const ids = [1, 5, 9, 3, 22, 17, 6, 8, 14, 2, 29, 4];
  /** llama.cpp rounds what it multiplies with weights of a type: to halves, bfloat16, or blocks of eight bits. Ours multiply in float32. */
  const bounds: Readonly<Record<string, number>> = { F32: 1e-4, F16: 2e-3, BF16: 2e-2 };
  /** It looks up GELU in a table of halves. */
  const roundedGelu = 2e-3;

  test('of made-up models of every family and type', { skip: missing }, async (t) => {
    const models = join(folder, 'models');
    const names = makeParityModels(2, models).filter((name) => existsSync(join(models, name, 'model.gguf')));
    assert.equal(names.length, 4 * 11);
    for (const name of names) {
      await t.test(name, async () => {
        const path = join(models, name, 'model.gguf');
        const expected = await llamaCpp().logits(path, ids);
        const difference = most(
          (await decodingLogits(path, ids)).map((row, i) => largestDifference(row, expected[i]!)),
        );
        const [family, type] = name.split('-');
        const least = family === 'gemma3_text' ? roundedGelu : 0;
        assert.ok(difference <= Math.max(least, bounds[type!] ?? 0.1), String(difference));
      });
    }
  });
});

/** llama2.c's file: the length of the longest token, then for each its score, its length and itself. */
function storiesScores(file: Buffer): Float32Array {
  const scores: number[] = [];
  for (let at = 4; at < file.length; at += 8 + file.readInt32LE(at + 4)) scores.push(file.readFloatLE(at));
  return Float32Array.from(scores);
}
