// Rules that compare the training reward with held-out accuracy.
import type { History } from '../history.ts';
import { signedDifference } from '../verdict.ts';
import { type HealthRule, number, percent, rule } from './health-rule.ts';

export const accuracyRules: readonly HealthRule[] = [
  rule({
    id: 'format_only_gains',
    level: 'warning',
    thresholds: { steps: 10, gain: 0.1, share: 0.5 },
    condition: ({ share, gain, steps }) =>
      `a reward with “format” in its name rose by more than ${gain} from the first to the last ${steps} steps, and held-out accuracy by less than ${percent(share)} of that, even at the upper end of its interval`,
    why: 'The policy learns the format of answers, but not how to find them.',
    suggestion: 'Give the format a lower weight than correctness, or reward it only if the answer is right.',
    check(history, { steps, gain, share }) {
      for (const name of history.rewardNames.filter((name) => /format/i.test(name))) {
        const first = history.firstMean(`rewards/${name}/mean`, steps);
        const last = history.lastMean(`rewards/${name}/mean`, steps);
        if (first === undefined || last === undefined || last - first <= gain) continue;
        const { heldOut } = history;
        if (heldOut?.metric !== 'eval/sampled_accuracy' || heldOut.interval[1] >= share * (last - first)) continue;
        return `${name} rose from ${number(first)} to ${number(last)}, but held-out accuracy changed by ${signedDifference(heldOut.difference, heldOut.interval)}`;
      }
      return undefined;
    },
  }),
  rule({
    id: 'reward_up_accuracy_flat',
    level: 'warning',
    thresholds: { share: 0.5 },
    condition: ({ share }) =>
      `the training reward had improved by the last evaluation, and the change of held-out accuracy lies within the margin and, even at the upper end of its interval, below ${percent(share)} of what the reward gained`,
    why: 'The reward does not measure what you want, or the policy memorises its training problems.',
    suggestion: 'Read samples with a high reward to see what earns it, and use more varied training problems.',
    check: (history, { share }) => divergence(history, 'flat', share),
  }),
  rule({
    id: 'reward_up_accuracy_down',
    level: 'error',
    thresholds: {},
    condition: () =>
      'the training reward had improved by the last evaluation, and held-out accuracy fell by more than the margin',
    why: 'The policy exploits the reward (reward hacking): it rises while the accuracy that it stands for falls.',
    suggestion: 'Stop, read samples with a high reward to see what earns it, and fix the reward before you continue.',
    check: (history) => divergence(history, 'regressed'),
  }),
];

/** @param share of the reward's gain that would be no divergence: where few answers are right, a gain of the reward is less than the margin of accuracy */
function divergence(history: History, accuracy: 'flat' | 'regressed', share = 0): string | undefined {
  const { evaluatedReward: reward, heldOut } = history;
  if (reward?.learning !== 'improved' || history.isSolved) return undefined;
  if (heldOut?.metric !== 'eval/sampled_accuracy' || heldOut.learning !== accuracy) return undefined;
  if (heldOut.interval[1] >= share * reward.difference) return undefined;
  const up = signedDifference(reward.difference, reward.interval);
  return `training reward changed by ${up}, held-out accuracy by ${signedDifference(heldOut.difference, heldOut.interval)}`;
}
