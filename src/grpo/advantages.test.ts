// Advantages: TRL's own, what they do not depend on, and groups that teach nothing.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { groupAdvantages, type ScaleRewards } from './advantages.ts';

interface Case {
  scale_rewards: ScaleRewards;
  num_generations: number;
  rewards: (number | null)[];
  advantages: number[];
  metrics: Record<'reward' | 'reward_std' | 'frac_reward_zero_std', number>;
}

const cases: Case[] = JSON.parse(readFileSync(`${import.meta.dirname}/fixtures/losses.json`, 'utf8')).advantages;

function assertNear(actual: readonly number[], expected: readonly number[], tolerance: number, what: string): void {
  assert.equal(actual.length, expected.length, what);
  for (const [i, number] of expected.entries()) {
    assert.ok(Math.abs(actual[i]! - number) <= tolerance, `${what}: element ${i} is ${actual[i]}, not ${number}`);
  }
}

test("advantages and statistics are TRL's", () => {
  for (const { scale_rewards, num_generations, rewards, advantages, metrics } of cases) {
    const groups = Array.from({ length: rewards.length / num_generations }, (_, g) =>
      rewards.slice(g * num_generations, (g + 1) * num_generations),
    );
    const ours = groupAdvantages(groups, { scaleRewards: scale_rewards });
    const what = JSON.stringify({ scale_rewards, rewards });
    assertNear(ours.advantages.flat(), advantages, 1e-6, what);
    assertNear([ours.metrics.reward!, ours.metrics.reward_std!], [metrics.reward, metrics.reward_std], 1e-6, what);
    // Where TRL divides by the deviation of the batch it also judges the batch; ours are always counted by group.
    if (scale_rewards !== 'batch') assert.equal(ours.metrics.frac_reward_zero_std, metrics.frac_reward_zero_std, what);
  }
});

test("a constant added to a group's scores changes no advantage", () => {
  const groups = [
    [1, 0, 0, 0.5],
    [0.2, 0.9, null, 0.4],
  ];
  const shifted = groups.map((group, g) => group.map((score) => (score === null ? null : score + 10 * (g + 1))));
  for (const scaleRewards of ['group', 'none'] as const) {
    const [plain, moved] = [groups, shifted].map((scores) =>
      groupAdvantages(scores, { scaleRewards }).advantages.flat(),
    );
    assertNear(moved!, plain!, 1e-12, scaleRewards);
  }
});

test('the sum over a group is 0, and the order of its trajectories does not matter', () => {
  const scores = [0.3, 1.7, -2, 0.1, 0.1];
  const [forward, backward] = [scores, scores.toReversed()].map((group) => groupAdvantages([group]).advantages[0]!);
  assert.ok(Math.abs(forward!.reduce((sum, advantage) => sum + advantage, 0)) < 1e-12);
  assertNear(backward!.toReversed(), forward!, 1e-12, 'reversed');
});

test('equal scores give exactly 0, even where their mean is rounded', () => {
  const { advantages } = groupAdvantages([
    [0.1, 0.1, 0.1],
    [0.1 + 0.2, 0.3],
  ]);
  assert.deepEqual(advantages, [
    [0, 0, 0],
    [0, 0],
  ]);
});

test('groups are told apart by whether they teach, and if not, why', () => {
  const { metrics } = groupAdvantages([
    [1, 0],
    [0, 0],
    [0.2, 0.2],
    [1, 1, null],
    [null, 1],
    [null, null],
  ]);
  assert.deepEqual(metrics, {
    reward: (1 + 0.2 + 0.2 + 1 + 1 + 1) / 9,
    reward_std: metrics.reward_std,
    frac_reward_zero_std: 3 / 4,
    'groups/frac_mixed': 1 / 4,
    'groups/frac_all_good': 1 / 4,
    'groups/frac_all_bad': 2 / 4,
  });
});

test('what there is nothing to compute from is absent, and its advantage 0', () => {
  assert.deepEqual(groupAdvantages([[null, null]]), { advantages: [[0, 0]], metrics: {} });
  assert.deepEqual(groupAdvantages([[3]]), { advantages: [[0]], metrics: { reward: 3 } });
  assert.deepEqual(groupAdvantages([]), { advantages: [], metrics: {} });
});
