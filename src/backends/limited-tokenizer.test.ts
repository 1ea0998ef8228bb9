// Tokenizers with regular expressions that end, and with one that does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { characterTokenizerJson } from '../../demo/character-tokenizer.ts';
import { createTokenizer } from '../tokenizers/tokenizer.ts';
import { limitedTokenizer } from './limited-tokenizer.ts';

const text = 'a'.repeat(64);

/** A tokenizer of single characters that first splits texts by a pattern. */
function splitting(pattern: string, limit?: number) {
  const pre_tokenizer = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  const description = { ...characterTokenizerJson('ab', ['<unk>']), pre_tokenizer };
  const tokenizer = createTokenizer(description, { unk_token: '<unk>' });
  return { tokenizer, limited: limitedTokenizer(tokenizer, description, limit) };
}

test('a time limit changes no token ids', () => {
  const { tokenizer, limited } = splitting('(?:a|b)+');
  assert.notEqual(limited, tokenizer);
  assert.deepEqual(limited.encode('abba'), tokenizer.encode('abba'));
  assert.equal(limited.decode(limited.encode('abba')), 'abba');
  const simple = splitting('[ab]+');
  assert.equal(simple.limited, simple.tokenizer, 'no limit where none is needed');
});

test('a tokenizer that would backtrack for ever is stopped', () => {
  assert.throws(() => splitting('(a+)+b', 300).limited.encode(text), {
    code: 'TOKENIZER_TOO_SLOW',
    message: 'the tokenizer takes longer than 0.3 s for a text',
  });
});
