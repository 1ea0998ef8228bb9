// Weights of rewards: schedules by hand, deviations against their definition, and a state that survives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finalWeight, RewardWeights, reweighed, type WeightSchedule, weightAt } from './reward-weights.ts';
import type { Reward } from './rl.ts';

const reward = (parts: Reward['parts']): Reward => ({ score: 0, parts });

test('schedules are straight between their points and flat beyond', () => {
  const at = (schedule: WeightSchedule, steps: readonly number[]) => steps.map((step) => weightAt(schedule, step));
  assert.deepEqual(at(0.3, [0, 100]), [0.3, 0.3]);
  assert.deepEqual(at({ from: 1, to: 0, steps: 4 }, [0, 1, 2, 4, 9]), [1, 0.75, 0.5, 0, 0]);
  const points = {
    points: [
      [10, 1],
      [20, 3],
      [20, 5],
      [40, 0],
    ],
  } as const;
  assert.deepEqual(at(points, [0, 9, 10, 15, 20, 30, 40, 41]), [1, 1, 1, 2, 5, 2.5, 0, 0]);
  assert.deepEqual([0.3, { from: 1, to: 0.2, steps: 4 }, points].map(finalWeight), [0.3, 0.2, 0]);
});

test('adaptive weights are divided by the sample deviation of all values so far', () => {
  const weights = new RewardWeights({ right: 1, long: 2, constant: 3 }, { adaptive: true });
  assert.deepEqual(weights.at(0), { right: 1, long: 2, constant: 3 });
  const values = [4, 1, 0, 3, 1000];
  for (const long of values) weights.observe([reward({ right: null, long, constant: 0.1 })]);
  const mean = values.reduce((a, b) => a + b) / 5;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 4);
  const { long, ...others } = weights.at(1);
  assert.ok(Math.abs(long! - 2 / deviation) < 1e-12);
  assert.deepEqual(others, { right: 1, constant: 3 });
});

test('weights go on where their state was taken, to the last bit', () => {
  const [whole, first, second] = Array.from({ length: 3 }, () => new RewardWeights({ a: 1 }, { adaptive: true }));
  const seen = Array.from({ length: 20 }, (_, i) => reward({ a: Math.sin(i) }));
  whole!.observe(seen);
  first!.observe(seen.slice(0, 7));
  second!.state = JSON.parse(JSON.stringify(first!.state));
  second!.observe(seen.slice(7));
  assert.deepEqual(second!.at(0), whole!.at(0));
});

test('a score is made anew of the parts that apply, and stays absent where it was', () => {
  assert.equal(reweighed(reward({ a: 1, b: 2, c: null, own: 5 }), { a: 0.5, b: 10, c: 1 }).score, 25.5);
  assert.equal(reweighed({ score: null, parts: { a: 1 } }, { a: 2 }).score, null);
});
