// Renderers of models whose tokenizer lies beside the weights, or inside of them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fixturePath } from '../../test/native-models.ts';
import { sharedPath, skipWithoutShared } from '../../test/shared.ts';
import { openModelText } from './open-renderer.ts';

const smol = sharedPath('models/smollm2-135m-instruct') ?? '';
const file = 'SmolLM2-135M-Instruct.Q4_1.gguf';

test('a GGUF file alone renders as it does beside its tokenizer.json', {
  skip: skipWithoutShared('models'),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gradus-gguf-'));
  t.after(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(smol, file), join(folder, file));
  const state = { messages: [{ role: 'user', content: 'What is 2 + 3?' }] } as const;
  const beside = await openModelText(smol, 'auto');
  const inside = await openModelText(folder, 'auto');
  assert.equal(inside.template, 'applied');
  assert.deepEqual(inside.renderer.render(state), beside.renderer.render(state));
  assert.deepEqual([...inside.renderer.stopIds], [2]);
});

test('without a tokenizer anywhere there is no renderer', async () => {
  await assert.rejects(openModelText(fixturePath('tiny-llama-a'), 'auto'), { code: 'TOKENIZER_NOT_FOUND' });
  await assert.rejects(openModelText(fixturePath('gguf-llama'), 'auto'), {
    code: 'GGUF_TOKENIZER_MISSING',
    hint: /tokenizer\.json beside/,
  });
});
