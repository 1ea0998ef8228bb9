// Learning-rate schedules, step for step against what transformers computes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LearningRateSchedule, learningRateSchedule } from './schedules.ts';

/** Learning rates of steps 0 … max_steps at a peak of 2, from `transformers.get_scheduler`; `constant` is `constant_with_warmup`. */
const computed: [LearningRateSchedule, max_steps: number, warmup_ratio: number, rates: number[]][] = [
  ['constant', 3, 0, [2, 2, 2, 2]],
  ['constant', 10, 0.25, [0, 0.666666667, 1.33333333, 2, 2, 2, 2, 2, 2, 2, 2]],
  ['linear', 10, 0, [2, 1.8, 1.6, 1.4, 1.2, 1, 0.8, 0.6, 0.4, 0.2, 0]],
  [
    'linear',
    10,
    0.25,
    [0, 0.666666667, 1.33333333, 2, 1.71428571, 1.42857143, 1.14285714, 0.857142857, 0.571428571, 0.285714286, 0],
  ],
  [
    'cosine',
    10,
    0,
    [2, 1.95105652, 1.80901699, 1.58778525, 1.30901699, 1, 0.690983006, 0.412214748, 0.190983006, 0.0489434837, 0],
  ],
  [
    'cosine',
    10,
    0.25,
    [0, 0.666666667, 1.33333333, 2, 1.90096887, 1.6234898, 1.22252093, 0.777479066, 0.376510198, 0.0990311321, 0],
  ],
  ['cosine', 3, 1, [0, 0.666666667, 1.33333333, 2]],
];

for (const [lr_scheduler_type, max_steps, warmup_ratio, rates] of computed) {
  test(`${lr_scheduler_type} over ${max_steps} steps, warm-up ${warmup_ratio}`, () => {
    const rate = learningRateSchedule({ learning_rate: 2, lr_scheduler_type, max_steps, warmup_ratio });
    for (const [step, expected] of rates.entries()) {
      assert.ok(Math.abs(rate(step) - expected) < 1e-8, `step ${step}: ${rate(step)}, not ${expected}`);
    }
  });
}

test('the default is constant, and beyond the last step decay stays at 0', () => {
  assert.equal(learningRateSchedule({ learning_rate: 1e-5, max_steps: 5 })(4), 1e-5);
  for (const lr_scheduler_type of ['linear', 'cosine'] as const) {
    assert.equal(learningRateSchedule({ learning_rate: 1, lr_scheduler_type, max_steps: 5 })(9), 0);
  }
});
