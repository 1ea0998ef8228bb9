// The bytes of tokens and their places in texts, against Python's tokenizers and transformers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sharedPath, skipWithoutShared } from '../../../test/shared.ts';
import { createTokenizer } from '../../tokenizers/tokenizer.ts';
import { TokenTexts } from './token-texts.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const python = join(root, 'python/.venv/bin/python');

interface Answer {
  readonly bytes: readonly (readonly number[] | null)[];
  readonly ids: readonly (readonly number[])[];
  readonly offsets: readonly (readonly number[])[];
}

const texts = ['Hi 😊 x', 'a  naïve\n\n 名前, 👩‍👩‍👧!', 'x🇩🇪 ٣½ é', '\u0085\ufeff😀😀', '日本語のテキスト 12 + 7 = 19'];

for (const model of ['smollm2-135m-instruct', 'stories260K']) {
  const skip =
    skipWithoutShared(`models/${model}`) ||
    (!existsSync(python) && 'python/.venv is not there: run `make test-engines`');
  test(`the tokens of ${model} are the bytes and begin where Python says`, { skip }, () => {
    const path = sharedPath('models', model, 'tokenizer.json')!;
    const tokenizer = createTokenizer(JSON.parse(readFileSync(path, 'utf8')), {});
    const script = join(root, 'python/oracles/token_bytes.py');
    const answer = execFileSync(python, [script, path], { input: JSON.stringify({ texts }), maxBuffer: 2 ** 26 });
    const { bytes, ids, offsets } = JSON.parse(answer.toString()) as Answer;
    for (const [id, own] of bytes.entries()) {
      const ours = tokenizer.bytesOf(id);
      assert.deepEqual(ours ? [...ours] : null, own, String(id));
    }
    for (const [i, given] of ids.entries()) {
      const places = new TokenTexts(tokenizer);
      assert.deepEqual(
        given.map((id) => places.push(id, false).offset),
        offsets[i],
        texts[i],
      );
    }
  });
}
