// Presets: each is a valid configuration, and keys of the configuration override it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfigObject } from './load.ts';
import { presetNames } from './preset-names.ts';
import { presets } from './presets.ts';
import type { ConfigInput } from './schema.ts';
import { dotted, leafPaths, valueAt } from './values.ts';

const minimal: ConfigInput = { model: 'tiny', dataset: 'problems.jsonl', reward: 'numeric_match' };

for (const name of presetNames) {
  test(`${name}: native supports all its values`, () => {
    const { config, origins } = loadConfigObject({ ...minimal, preset: name });
    const { values, parts } = presets[name];
    for (const part of [values, parts?.native ?? {}] as Record<string, unknown>[]) {
      for (const path of leafPaths(part)) {
        assert.deepEqual(valueAt(config, path), valueAt(part, path), dotted(path));
        assert.equal(origins[dotted(path)], `preset ${name}`);
      }
    }
    assert.equal(origins.preset, 'file');
    assert.equal(origins.temperature, 'default');
  });
}

test('the configuration’s own keys win, one by one', () => {
  const own: ConfigInput = { ...minimal, preset: 'memory', num_generations: 16, lora: { alpha: 64 } };
  const { config, origins } = loadConfigObject(own, ['prompts_per_step=2']);
  assert.deepEqual([config.num_generations, config.prompts_per_step, config.max_completion_length], [16, 2, 128]);
  assert.deepEqual([config.lora?.r, config.lora?.alpha], [8, 64]);
  assert.equal(origins.num_generations, 'file');
  assert.equal(origins.prompts_per_step, 'setting');
  assert.equal(origins['lora.r'], 'preset memory');
  assert.equal(origins['lora.alpha'], 'file');
  assert.equal(loadConfigObject({ ...own, lora: null }).config.lora, null);
});

test('a preset may be set on the command line, and unset', () => {
  const { config, origins } = loadConfigObject(minimal, ['preset=cispo']);
  assert.deepEqual([config.loss_type, config.epsilon_high], ['cispo', 5]);
  assert.equal(origins.preset, 'setting');
  assert.equal(loadConfigObject({ ...minimal, preset: 'cispo' }, ['preset=null']).config.loss_type, 'dapo');
});

test('memory: TRL takes the completions of a step one by one', () => {
  const sizeWith = (backend: 'native' | 'trl') =>
    loadConfigObject({ ...minimal, backend, preset: 'memory' }).config.trl.per_device_train_batch_size;
  assert.deepEqual([sizeWith('trl'), sizeWith('native')], [1, null]);
});

test('values of a preset for other backends are left out', () => {
  assert.equal(loadConfigObject({ ...minimal, preset: 'throughput' }).config.trl.use_vllm, false);
  const builtin: ConfigInput = { backend: 'builtin', taskset: 'digit-sum', taskset_config: { digits: 2 } };
  const { config } = loadConfigObject({ ...builtin, preset: 'max_rl' });
  assert.equal(config.scale_rewards, 'mean');
});

test('an error about a value that contradicts a preset names the preset', () => {
  const faulty = () => loadConfigObject({ ...minimal, preset: 'gspo', loss_type: 'sapo' });
  assert.throws(faulty, { code: 'CONFIG_CONFLICT', message: /^preset gspo: epsilon has no effect/ });
});

test('a resolved configuration can be run again', () => {
  const { config } = loadConfigObject({ ...minimal, preset: 'dapo', epsilon_high: 0.3 });
  assert.deepEqual(loadConfigObject(config).config, config);
});

test('an unknown preset is refused with the names of those that exist', () => {
  const unknown = { ...minimal, preset: 'ppo' } as unknown as ConfigInput;
  assert.throws(() => loadConfigObject(unknown), { code: 'CONFIG_INVALID', message: /one of grpo, r1, dapo/ });
});
