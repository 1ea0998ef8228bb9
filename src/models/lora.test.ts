// Which layers adapters go on, their shapes, and what PEFT's files call them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixturePath, LORA, readJson } from '../../test/native-models.ts';
import { architectureOf } from './families.ts';
import { type LoraSettings, loraAdapters, peftConfig, peftName } from './lora.ts';

const { parameters } = architectureOf(readJson(fixturePath('tiny-llama-b'), 'config.json'));
const adaptersOf = (targetModules: LoraSettings['targetModules']) =>
  loraAdapters(parameters, { ...LORA, targetModules });

test('all-linear is every linear layer but the output', () => {
  const names = [...adaptersOf('all-linear').keys()];
  assert.equal(names.length, 3 * 7);
  assert.ok(names.every((name) => /^model\.layers\.\d\.(self_attn\.[qkvo]|mlp\.(gate|up|down))_proj$/.test(name)));
});

test('target modules are the last parts of names', () => {
  assert.deepEqual(
    [...adaptersOf(['v_proj', 'down_proj']).keys()].filter((name) => name.includes('layers.1.')),
    ['model.layers.1.self_attn.v_proj', 'model.layers.1.mlp.down_proj'],
  );
  assert.equal(adaptersOf([]).size, 0);
});

test('an adapter has the shapes of its layer and the scale alpha / r', () => {
  const { a, b, scale } = adaptersOf('all-linear').get('model.layers.2.self_attn.k_proj')!;
  assert.deepEqual([a.shape, b.shape, scale], [[4, 21], [6, 4], 2]);
});

test('a target module that no layer has is an error that names those it has', () => {
  for (const target of ['qproj', 'lm_head', 'embed_tokens', 'input_layernorm', 'self_attn.q_proj']) {
    assert.throws(() => adaptersOf(['q_proj', target]), {
      code: 'LORA_TARGET_UNKNOWN',
      path: 'lora.target_modules',
      message: `no layer is called ${target}`,
      hint: /q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj/,
    });
  }
});

test("names and settings are those of PEFT's own files", () => {
  const folder = fixturePath('tiny-llama-a', 'adapter');
  const { parameters: own } = architectureOf(readJson(fixturePath('tiny-llama-a'), 'config.json'));
  const adapters = loraAdapters(own, LORA);
  const theirs = readJson<Record<string, unknown>>(folder, 'adapter_config.json');
  const ours = peftConfig(LORA, adapters, 'tiny-llama-a');
  for (const [field, value] of Object.entries(ours)) {
    const sorted = (x: unknown) => (Array.isArray(x) ? x.toSorted() : x);
    assert.deepEqual(sorted(value), sorted(theirs[field]), field);
  }
  const { gradients } = readJson<{ cases: { gradients: object }[] }>(fixturePath('tiny-llama-a'), 'grpo-step.json')
    .cases[0]!;
  const names = [...adapters.values()].flatMap(({ a, b }) => [peftName(a.name), peftName(b.name)]);
  assert.deepEqual(names.toSorted(), Object.keys(gradients).toSorted());
});
