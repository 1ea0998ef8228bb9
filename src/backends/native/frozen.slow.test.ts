// Frozen parameters stay the same, bit for bit; trained ones change, are saved in checkpoints, and are restored from them.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { largestDifference } from '../../../test/difference.ts';
import { fixturePath, LORA, openModel, randomSequences } from '../../../test/native-models.ts';
import { openModelFiles } from '../model-files/model-files.ts';
import { writeMergedModel } from '../model-files/write-merged.ts';
import type { NativeModelOptions } from './native-options.ts';

const sequences = randomSequences({ 1: [12], 5: [6, 9] }, 53).map((sequence) => {
  return { ...sequence, mask: sequence.mask.map(() => true) };
});

async function weightsOf(path: string): Promise<Map<string, Float32Array>> {
  const files = await openModelFiles(path);
  const weights = new Map<string, Float32Array>();
  for (const parameter of files.architecture.parameters) {
    const values = new Float32Array(parameter.shape.reduce((product, length) => product * length, 1));
    await files.read(parameter, values);
    weights.set(parameter.name, values);
  }
  await files.close();
  return weights;
}

const cases: [what: string, options: Partial<NativeModelOptions>, trained: RegExp, file: string][] = [
  ['adapters', { lora: LORA }, /_proj\.weight$/, 'adapter_model.safetensors'],
  [
    'adapters on some layers, with dropout',
    { lora: { ...LORA, targetModules: ['q_proj'], dropout: 0.3 } },
    /q_proj\.weight$/,
    'adapter_model.safetensors',
  ],
  [
    'adapters and the embeddings',
    { lora: { ...LORA, targetModules: ['v_proj'], modulesToSave: ['embed_tokens'] } },
    /v_proj\.weight$|embed_tokens/,
    'adapter_model.safetensors',
  ],
  [
    'a layer and the last norm',
    { lora: null, trainable: ['layers.1', 'model.norm'] },
    /layers\.1\.|model\.norm/,
    'trained.safetensors',
  ],
  ['everything', { lora: null }, /./, 'model.safetensors'],
];

for (const [what, options, trained, file] of cases) {
  test(`training ${what} changes nothing else`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gradus-frozen-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const modelPath = fixturePath('tiny-llama3');
    const model = await openModel({ modelPath, ...options });
    t.after(() => model.dispose());
    const before = await model.logprobs(sequences, 'current');
    for (let step = 0; step < 3; step++) await model.updateSupervised({ sequences }, { learningRate: 0.02 });
    const [checkpoint, merged] = ['checkpoint', 'merged'].map((name) => join(folder, name)) as [string, string];
    await model.save(checkpoint);
    assert.ok(existsSync(join(checkpoint, file)));

    mkdirSync(merged);
    await writeMergedModel({ modelPath, checkpoint, directory: merged, dtype: 'float32' });
    const [first, last] = [await weightsOf(modelPath), await weightsOf(merged)];
    for (const [name, values] of last) {
      const changed = values.some((value, i) => value !== first.get(name)![i]);
      assert.equal(changed, trained.test(name), name);
    }
    const scores = await model.logprobs(sequences, 'current');
    assert.deepEqual(await model.logprobs(sequences, 'reference'), before, 'the reference stays');

    const exported = await openModel({ modelPath: merged, lora: null });
    t.after(() => exported.dispose());
    assert.ok(largestDifference((await exported.logprobs(sequences, 'current')).flat(), scores.flat()) <= 1e-5);
    const resumed = await openModel({ modelPath, ...options });
    t.after(() => resumed.dispose());
    await resumed.load(checkpoint);
    assert.deepEqual(await resumed.logprobs(sequences, 'current'), scores);
    // Dropout continues with the same random numbers.
    for (const each of [model, resumed]) await each.updateSupervised({ sequences }, { learningRate: 0.02 });
    assert.deepEqual(await resumed.logprobs(sequences, 'current'), await model.logprobs(sequences, 'current'));
  });
}

test('a rounded sampler does not round trained parameters', async (t) => {
  const lora = { ...LORA, modulesToSave: ['embed_tokens'] };
  const options = { maxTokens: 5, stopIds: new Set<number>() };
  const model = await openModel({ lora, rolloutDtype: 'int8' });
  t.after(() => model.dispose());
  const sampled = () => model.policy().sample([{ promptIds: [1, 5], seed: 0 }], options);
  const [before] = await sampled();
  await model.updateSupervised({ sequences }, { learningRate: 0.05 });
  const [after] = await sampled();
  assert.ok(largestDifference(after!.plainLogprobs, before!.plainLogprobs) > 1e-3);
});
