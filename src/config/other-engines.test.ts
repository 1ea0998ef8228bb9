// Which settings are told to be those of another engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfigObject } from './load.ts';
import { settingsOfOtherEngines, unreadSettings } from './other-engines.ts';
import type { ConfigInput } from './schema.ts';

const base = { model: 'tiny', dataset: 'rows.jsonl', reward: 'numeric_match' };
const config = (changes: ConfigInput) => loadConfigObject({ ...base, ...changes } as ConfigInput).config;

test('settings of another engine are reported with the backend that reads them; shared ones and those of the chosen engine are not', () => {
  assert.equal(unreadSettings(config({})), undefined);
  assert.equal(unreadSettings(config({ native: { threads: 2 }, trl: { use_vllm: false } })), undefined);
  assert.deepEqual(settingsOfOtherEngines(config({ trl: { bf16: true, use_vllm: true } })), [
    'trl.bf16',
    'trl.use_vllm',
  ]);
  const { detail, hint } = unreadSettings(config({ trl: { use_vllm: true } }))!;
  assert.equal(detail, 'backend native does not read trl.use_vllm');
  assert.match(hint, /^set backend: trl /);
  assert.deepEqual(settingsOfOtherEngines(config({ backend: 'trl', trl: { use_vllm: true } })), []);
  const shared = { backend: 'trl', native: { reward_workers: 3, threads: 2 } } as const;
  assert.deepEqual(settingsOfOtherEngines(config(shared)), ['native.threads']);
});
