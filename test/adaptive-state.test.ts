// Runs that adapt as they go, stopped anywhere and resumed: what they have measured goes on with them, to the last byte.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ConfigInput } from '../src/config/schema.ts';
import { readMetrics, readRollouts } from '../src/runs/read-run.ts';
import { train } from '../src/studio/train.ts';
import { tinyConfig } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'gradus-adaptive-'));
after(() => rmSync(folder, { recursive: true }));
const place = (name: string) => join(folder, name);

const config = {
  ...tinyConfig(folder),
  ...{ eval: null, sample_every_steps: null, save: { every_steps: 2, best: null } },
  ...{ max_steps: 6, num_generations: 4, learning_rate: 0.005 },
} as ConfigInput;

/** Trains without a break, and with one after each of some steps; both must leave the same behind. */
async function assertResumable(name: string, settings: ConfigInput, stops: readonly number[] = [1, 3, 4]) {
  const options = { preflight: false };
  await train({ ...config, ...settings }, { out: place(name), ...options });
  const out = place(`${name}-in-parts`);
  for (const stop of [...stops, undefined]) {
    const controller = new AbortController();
    await train(
      { ...config, ...settings },
      {
        ...{ out, ...options, resume: stop !== stops[0], signal: controller.signal },
        onEvent: (event) => event.type === 'step' && event.step === stop && controller.abort('SIGINT'),
      },
    );
  }
  for (const file of [
    'metrics.jsonl',
    'checkpoints/step_000006/model.safetensors',
    'checkpoints/step_000006/state.json',
  ]) {
    assert.deepEqual(readFileSync(join(out, file)), readFileSync(join(place(name), file)), file);
  }
  return readMetrics(place(name));
}

test('fresh prompts in place of those that teach nothing', async () => {
  // Right or wrong: most groups of a random model teach nothing.
  const metrics = await assertResumable('resample', {
    group_policy: 'resample',
    resample_limit: 2,
    reward: { name: 'regex_match', config: { pattern: '[0-9]{2}' } },
    reward_fn: null,
  });
  assert.ok(metrics.some((step) => step['groups/sampled']! > 4));
  const groups = [1, 2, 3, 4, 5, 6].flatMap((step) => readRollouts(place('resample'), step));
  const questions = groups.map(({ example }) => example.question);
  assert.ok(groups.some(({ fate }) => fate === 'resampled'));
  for (const { fate, reason, completions } of groups) {
    assert.equal(fate === 'kept', reason === 'mixed');
    if (fate !== 'kept') assert.ok(completions.every(({ advantage }) => advantage === 0));
  }
  assert.ok(new Set(questions).size > 4);
});

test('weights that follow a schedule and the spread of their rewards', async () => {
  const metrics = await assertResumable('weights', {
    reward: [
      { name: 'length', weight: { from: 1, to: 0, steps: 5 }, config: { min: 2, max: 4 } },
      {
        name: 'repetition_penalty',
        weight: {
          points: [
            [0, 1],
            [2, 0.5],
          ],
        },
        config: { ngram_size: 1 },
      },
    ],
    adaptive_reward_scaling: true,
  });
  const weights = metrics.map((step) => step['rewards/length/weight']!);
  assert.equal(weights[0], 1);
  assert.equal(weights[5], 0);
  assert.ok(weights[1]! > 0.8, 'divided by a deviation below 1');
});

test('a curriculum by the success that was measured', async () => {
  const rows = Array.from({ length: 12 }, (_, i) => ({ question: `${i}+${i}=`, answer: String(2 * i) }));
  const dataset = join(folder, 'sums.jsonl');
  writeFileSync(dataset, rows.map((row) => JSON.stringify(row)).join('\n'));
  const metrics = await assertResumable('curriculum', {
    ...{ dataset, taskset: null, taskset_config: {}, curriculum: { target: 0.5, candidates: 3 } },
    reward: [{ name: 'regex_match', config: { pattern: '[0-9]' } }],
    reward_fn: null,
  });
  const measured = metrics.map((step) => step['curriculum/measured']!);
  assert.equal(measured[0], 4 / 12);
  assert.ok(measured.every((fraction, i) => i === 0 || fraction >= measured[i - 1]!));
});
