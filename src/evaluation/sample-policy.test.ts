// Sampling with rewards that hang: a signal ends it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Trajectory } from '../rl.ts';
import { type SamplePolicyOptions, samplePolicy } from './sample-policy.ts';

const trajectory: Trajectory = { turns: [], stopReason: 'completed' };

const options: SamplePolicyOptions = {
  policy: { contextLength: 9, sample: async () => [] },
  generator: { generate: async (examples) => examples.map(() => [trajectory]) },
  rewardModel: { score: async (_, trajectories) => trajectories.map(() => ({ score: 1, parts: {} })) },
  samplesPerProblem: 1,
  seed: 0,
};

test('sampling that is cancelled while a reward hangs returns nothing', { timeout: 10_000 }, async () => {
  assert.equal((await samplePolicy([{}, {}], 3, options)).length, 2);
  const controller = new AbortController();
  const rewardModel = { score: () => new Promise<never>(() => controller.abort()) };
  assert.deepEqual(await samplePolicy([{}, {}], 3, { ...options, rewardModel, signal: controller.signal }), []);
});
