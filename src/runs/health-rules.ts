// The rules of run health, a row each: thresholds, why it matters, what to change. docs/health.md is made from this table.
//
// A rule looks at windows of steps and says nothing about what was not measured. Sources of the thresholds: axolotl's notes on training
// stability, TRL's and prime-rl's documentation of their metrics, and the warning signs in which GRPO guides agree.
import type { History } from './history.ts';
import type { AlertLevel } from './records.ts';
import { signedDifference } from './verdict.ts';

export interface HealthRule {
  /** Stable: what an alert calls its rule. */
  readonly id: string;
  readonly level: AlertLevel;
  /** When it holds, in words. */
  readonly condition: string;
  readonly thresholds: Readonly<Record<string, number>>;
  readonly why: string;
  /** What to change. */
  readonly suggestion: string;
  /** What is seen, in numbers, if the rule holds. */
  readonly check: (history: History) => string | undefined;
}

interface RuleRow<T> extends Omit<HealthRule, 'check' | 'thresholds'> {
  readonly thresholds: T;
  readonly check: (history: History, thresholds: T) => string | undefined;
}

function rule<const T extends Readonly<Record<string, number>>>({ check, ...row }: RuleRow<T>): HealthRule {
  return { ...row, check: (history) => check(history, row.thresholds) };
}

const percent = (value: number) => `${Math.round(100 * value)} %`;
const number = (value: number) => String(Number(value.toPrecision(3)));

/** Many groups earn equal, good rewards, and hardly any bad ones: what looks like a standstill is success. */
const isSolved = (history: History) =>
  (history.lastMean('groups/frac_all_good', 10) ?? 0) >= 0.5 &&
  (history.lastMean('groups/frac_all_bad', 10) ?? 1) < 0.1;

export const healthRules: readonly HealthRule[] = [
  rule({
    id: 'no_learning_signal',
    level: 'error',
    condition: 'not one group of the last `steps` steps was mixed, and at least `all_bad` of them were all bad',
    thresholds: { steps: 20, all_bad: 0.5 },
    why: 'Advantages compare the completions of a group; where all score the same, nothing is learnt.',
    suggestion:
      'Test the reward on known answers (gradus rewards test), make problems easier, or raise num_generations or temperature.',
    check(history, { steps, all_bad }) {
      const mixed = history.last('groups/frac_mixed', steps);
      const bad = history.lastMean('groups/frac_all_bad', steps);
      if (!mixed?.every((value) => value === 0) || bad === undefined || bad < all_bad) return undefined;
      return `no mixed group in the last ${steps} steps; ${percent(bad)} of the groups are all bad`;
    },
  }),
  rule({
    id: 'groups_all_bad',
    level: 'warning',
    condition: 'at least `fraction` of the groups of the last `steps` steps were all bad',
    thresholds: { steps: 10, fraction: 0.8 },
    why: 'The task is too hard for the policy, or the reward too strict: few groups teach anything.',
    suggestion:
      'Use easier problems, partial credit or larger num_generations; read samples to see what is marked wrong.',
    check(history, { steps, fraction }) {
      const bad = history.lastMean('groups/frac_all_bad', steps);
      if (bad === undefined || bad < fraction) return undefined;
      return `${percent(bad)} of the groups of the last ${steps} steps are all bad`;
    },
  }),
  rule({
    id: 'groups_all_good',
    level: 'info',
    condition: 'at least `fraction` of the groups of the last `steps` steps were all good: the reward is saturated',
    thresholds: { steps: 10, fraction: 0.8 },
    why: 'The policy solves nearly every problem; further steps learn little.',
    suggestion: 'Stop here, or go on with harder problems.',
    check(history, { steps, fraction }) {
      const good = history.lastMean('groups/frac_all_good', steps);
      if (good === undefined || good < fraction) return undefined;
      return `${percent(good)} of the groups of the last ${steps} steps are all good`;
    },
  }),
  rule({
    id: 'zero_variance_groups',
    level: 'warning',
    condition:
      'at least `fraction` of the groups of the last `steps` steps had equal rewards, and the engine does not tell good from bad ones',
    thresholds: { steps: 10, fraction: 0.8 },
    why: 'A group whose rewards are all equal has no advantages: it costs rollouts and teaches nothing.',
    suggestion: 'Look at the mean reward: if it is low, make problems easier; if it is high, harder.',
    check(history, { steps, fraction }) {
      const equal = history.lastMean('frac_reward_zero_std', steps);
      if (equal === undefined || equal < fraction || history.last('groups/frac_mixed', steps)) return undefined;
      const reward = history.lastMean('reward', steps);
      const mean = reward === undefined ? '' : `, at a mean reward of ${number(reward)}`;
      return `${percent(equal)} of the groups of the last ${steps} steps have equal rewards${mean}`;
    },
  }),
  rule({
    id: 'reward_never_given',
    level: 'warning',
    condition: 'a reward function gave 0 to every completion of the last `steps` steps',
    thresholds: { steps: 20 },
    why: 'A reward that is always 0 teaches nothing; often its pattern cannot match at all.',
    suggestion: 'Test it on an answer that must score (gradus rewards test), and compare with samples of the run.',
    check(history, { steps }) {
      const zero = (values: readonly number[] | undefined) => values?.every((value) => value === 0);
      const names = history.rewardNames.filter(
        (name) => zero(history.last(`rewards/${name}/mean`, steps)) && zero(history.last(`rewards/${name}/std`, steps)),
      );
      return names.length === 0 ? undefined : `${names.join(', ')}: 0 for every completion of the last ${steps} steps`;
    },
  }),
  rule({
    id: 'reward_errors',
    level: 'warning',
    condition: 'rewards failed for at least `fraction` of the completions of the last `steps` steps',
    thresholds: { steps: 10, fraction: 0.01 },
    why: 'A completion whose reward failed teaches nothing; what makes rewards fail may be what should be punished.',
    suggestion: 'Read the errors in rollouts/ and mend the reward; max_error_fraction bounds what is tolerated.',
    check(history, { steps, fraction }) {
      const failed = history.lastMean('frac_reward_errors', steps);
      if (failed === undefined || failed < fraction) return undefined;
      return `rewards failed for ${number(100 * failed)} % of the completions of the last ${steps} steps`;
    },
  }),
  rule({
    id: 'reward_flat',
    level: 'warning',
    condition:
      'after `steps` steps the first and the last window of the training reward differ by no more than the margin, and the task is not solved',
    thresholds: { steps: 50 },
    why: 'The interval of the change lies within the margin: the policy earns what it earned at first.',
    suggestion: 'Raise learning_rate, look at the fraction of mixed groups, and check that grad_norm is above 0.',
    check(history, { steps }) {
      const change = history.reward;
      if (history.steps < steps || change?.learning !== 'flat' || isSolved(history)) return undefined;
      const { before, after, difference, interval, window } = change;
      return `reward ${number(before)} in the first ${window} steps, ${number(after)} in the last: ${signedDifference(difference, interval)}`;
    },
  }),
  rule({
    id: 'reward_fell',
    level: 'warning',
    condition: 'the training reward of the last window is below that of the first, beyond the margin',
    thresholds: {},
    why: 'Training makes the policy worse at what it is rewarded for.',
    suggestion: 'Lower learning_rate, raise beta, and go on from the best checkpoint.',
    check(history) {
      const change = history.reward;
      if (change?.learning !== 'regressed') return undefined;
      const { before, after, difference, interval, window } = change;
      return `reward ${number(before)} in the first ${window} steps, ${number(after)} in the last: ${signedDifference(difference, interval)}`;
    },
  }),
  rule({
    id: 'reward_spread_gone',
    level: 'warning',
    condition:
      'reward_std of the last `steps` steps is below `share` of that of the first `steps`, and the reward has not improved',
    thresholds: { steps: 10, share: 0.1 },
    why: 'All completions earn nearly the same: the policy may have collapsed to one response.',
    suggestion: 'Read samples; raise temperature or beta, or lower learning_rate.',
    check(history, { steps, share }) {
      const first = history.firstMean('reward_std', steps);
      const last = history.lastMean('reward_std', steps);
      if (first === undefined || last === undefined || last >= share * first) return undefined;
      if (!history.hasNotImproved) return undefined;
      return `reward_std fell from ${number(first)} to ${number(last)} (mean of ${steps} steps)`;
    },
  }),
  rule({
    id: 'entropy_collapse',
    level: 'warning',
    condition: 'the mean entropy of the last `steps` steps is below `entropy`, though the task is not solved',
    thresholds: { steps: 10, entropy: 0.01 },
    why: 'A policy without entropy samples the same completion again and again and explores nothing.',
    suggestion: 'Lower learning_rate, raise temperature, beta or epsilon_high, and go on from an earlier checkpoint.',
    check(history, { steps, entropy }) {
      const last = history.lastMean('entropy', steps);
      if (last === undefined || last >= entropy || isSolved(history)) return undefined;
      return `mean entropy ${number(last)} in the last ${steps} steps`;
    },
  }),
  rule({
    id: 'entropy_explosion',
    level: 'warning',
    condition:
      'the mean entropy of the last `steps` steps is above `entropy` and `factor` times that of the first, and the reward has not improved',
    thresholds: { steps: 10, entropy: 1, factor: 2 },
    why: 'The policy dissolves into noise.',
    suggestion: 'Lower learning_rate, raise beta, and look at samples.',
    check(history, { steps, entropy, factor }) {
      const first = history.firstMean('entropy', steps);
      const last = history.lastMean('entropy', steps);
      if (first === undefined || last === undefined || last <= Math.max(entropy, factor * first)) return undefined;
      if (!history.hasNotImproved) return undefined;
      return `mean entropy rose from ${number(first)} to ${number(last)} (mean of ${steps} steps)`;
    },
  }),
  rule({
    id: 'kl_high',
    level: 'info',
    condition: 'the mean KL of the last `steps` steps is above `kl`, and the reward has improved',
    thresholds: { steps: 10, kl: 0.5 },
    why: 'The policy is far from the model it started from; its reward may be earned in ways nobody wants.',
    suggestion: 'Read samples and compare held-out accuracy before trusting the reward.',
    check: (history, { steps, kl }) =>
      history.reward?.learning === 'improved' ? klText(history, steps, kl) : undefined,
  }),
  rule({
    id: 'kl_drift',
    level: 'warning',
    condition: 'the mean KL of the last `steps` steps is above `kl`, and the reward has not improved',
    thresholds: { steps: 10, kl: 0.5 },
    why: 'The policy moves away from the model it started from and gains nothing by it.',
    suggestion: 'Raise beta or lower learning_rate.',
    check: (history, { steps, kl }) => (history.hasNotImproved ? klText(history, steps, kl) : undefined),
  }),
  rule({
    id: 'kl_explosion',
    level: 'error',
    condition: 'the mean KL of the last `steps` steps is above `kl`, and the reward has not improved',
    thresholds: { steps: 10, kl: 2 },
    why: 'The policy has little in common with the model it started from; what that could do is usually lost.',
    suggestion: 'Stop, go back to an earlier checkpoint, lower learning_rate and raise beta.',
    check: (history, { steps, kl }) => (history.hasNotImproved ? klText(history, steps, kl) : undefined),
  }),
  rule({
    id: 'completions_clipped',
    level: 'warning',
    condition: 'more than `fraction` of the completions of the last `steps` steps were cut off',
    thresholds: { steps: 10, fraction: 0.3 },
    why: 'A completion that is cut off before its answer is marked wrong for its length.',
    suggestion: 'Raise max_completion_length, or reward brevity.',
    check(history, { steps, fraction }) {
      const clipped = history.lastMean('completions/clipped_ratio', steps);
      if (clipped === undefined || clipped <= fraction) return undefined;
      return `${percent(clipped)} of the completions of the last ${steps} steps are cut off`;
    },
  }),
  rule({
    id: 'completions_never_end',
    level: 'error',
    condition:
      'more than `fraction` of the completions of the last `steps` steps were cut off, and the reward has not improved',
    thresholds: { steps: 10, fraction: 0.95 },
    why: 'The policy hardly ever writes an end token: often the chat template was not applied, or the wrong token is taken for the end.',
    suggestion: 'Check the chat template (gradus preflight), then max_completion_length.',
    check(history, { steps, fraction }) {
      const clipped = history.lastMean('completions/clipped_ratio', steps);
      if (clipped === undefined || clipped <= fraction || !history.hasNotImproved) return undefined;
      return `${percent(clipped)} of the completions of the last ${steps} steps are cut off`;
    },
  }),
  rule({
    id: 'length_drift',
    level: 'warning',
    condition:
      'the mean length of the last `steps` steps is above `factor` times that of the first and above `share` of the limit',
    thresholds: { steps: 10, factor: 1.5, share: 0.7 },
    why: 'Lengths that grow up to the limit are a common way to game a reward, and the next thing is that answers are cut off.',
    suggestion:
      'Read the longest completions; penalise length, or try loss_type dr_grpo, which does not favour long wrong answers.',
    check(history, { steps, factor, share }) {
      const { maxTokens } = history.settings;
      const first = history.firstMean('completions/mean_length', steps);
      const last = history.lastMean('completions/mean_length', steps);
      if (maxTokens === undefined || first === undefined || last === undefined) return undefined;
      if (last <= factor * first || last <= share * maxTokens) return undefined;
      return `mean length rose from ${number(first)} to ${number(last)} of at most ${maxTokens} tokens (mean of ${steps} steps)`;
    },
  }),
  rule({
    id: 'format_only_gains',
    level: 'warning',
    condition:
      'a reward for the format rose by more than `gain` between the first and the last `steps` steps, and held-out accuracy by less than `share` of that, even at the upper end of its interval',
    thresholds: { steps: 10, gain: 0.1, share: 0.5 },
    why: 'The policy learns how answers look, not how to find them.',
    suggestion: 'Give the format less weight than correctness, or reward it only where the answer is right.',
    check(history, { steps, gain, share }) {
      for (const name of history.rewardNames.filter((name) => /format/i.test(name))) {
        const first = history.firstMean(`rewards/${name}/mean`, steps);
        const last = history.lastMean(`rewards/${name}/mean`, steps);
        if (first === undefined || last === undefined || last - first <= gain) continue;
        const { heldOut } = history;
        if (heldOut?.metric !== 'eval/sampled_accuracy' || heldOut.interval[1] >= share * (last - first)) continue;
        return `${name} rose from ${number(first)} to ${number(last)}, held-out accuracy by ${signedDifference(heldOut.difference, heldOut.interval)}`;
      }
      return undefined;
    },
  }),
  rule({
    id: 'reward_up_accuracy_flat',
    level: 'warning',
    condition: 'the training reward improved, and held-out accuracy stayed within the margin',
    thresholds: {},
    why: 'What the reward pays for is not what counts, or the policy learns its training problems by heart.',
    suggestion: 'Read samples with a high reward; use more and other training problems.',
    check: (history) => divergence(history, 'flat'),
  }),
  rule({
    id: 'reward_up_accuracy_down',
    level: 'error',
    condition: 'the training reward improved, and held-out accuracy fell beyond the margin',
    thresholds: {},
    why: 'The reward is being hacked: it rises while what it stands for gets worse.',
    suggestion: 'Stop, read samples with a high reward, and close the gap in the reward before training on.',
    check: (history) => divergence(history, 'regressed'),
  }),
  rule({
    id: 'gradient_vanishing',
    level: 'warning',
    condition:
      'grad_norm was below `norm` in each of the last `steps` steps, though at least `mixed` of the groups could teach, and the reward has not improved',
    thresholds: { steps: 10, norm: 0.001, mixed: 0.2 },
    why: 'There is something to learn, and hardly any gradient arrives.',
    suggestion: 'Check scale_rewards, the lora target_modules and that rewards differ by more than rounding.',
    check(history, { steps, norm, mixed }) {
      const norms = history.last('grad_norm', steps);
      const groups = history.lastMean('groups/frac_mixed', steps);
      if (!norms?.every((value) => value < norm) || groups === undefined || groups < mixed) return undefined;
      if (!history.hasNotImproved) return undefined;
      return `grad_norm at most ${number(Math.max(...norms))} in the last ${steps} steps, with ${percent(groups)} mixed groups`;
    },
  }),
  rule({
    id: 'gradient_exploding',
    level: 'warning',
    condition: 'grad_norm, before it is clipped, was above `norm` in at least `times` of the last `steps` steps',
    thresholds: { steps: 10, times: 3, norm: 10 },
    why: 'Gradients this large are mostly clipped away: what is left is direction, and often noise.',
    suggestion:
      'Lower learning_rate or max_grad_norm, use more prompts_per_step, and look for rewards of very different size.',
    check(history, { steps, times, norm }) {
      const large = history.last('grad_norm', steps)?.filter((value) => value > norm) ?? [];
      if (large.length < times) return undefined;
      return `grad_norm above ${norm} in ${large.length} of the last ${steps} steps, up to ${number(Math.max(...large))}`;
    },
  }),
  rule({
    id: 'ratios_clipped',
    level: 'warning',
    condition: 'more than `fraction` of the ratios of the last `steps` steps were clipped',
    thresholds: { steps: 10, fraction: 0.3 },
    why: 'The policy moves further in one step than its rollouts can vouch for.',
    suggestion: 'Lower learning_rate or num_iterations.',
    check(history, { steps, fraction }) {
      const clipped = history.lastMean('clip_ratio/region_mean', steps);
      if (clipped === undefined || clipped <= fraction) return undefined;
      return `${percent(clipped)} of the ratios of the last ${steps} steps are clipped`;
    },
  }),
  rule({
    id: 'sampler_mismatch',
    level: 'warning',
    condition:
      'sampler and trainer differed in the last `steps` steps by more than rounding explains: 0.05 nats a token, or 0.5 where the sampler is quantised; five times that in one step ends the run',
    thresholds: { steps: 10 },
    why: 'Gradients are taken as if the trainer had sampled; the further off the sampler, the more they are biased.',
    suggestion:
      'Sample with higher precision (native.rollout_dtype), without top_p or top_k, or correct by importance sampling.',
    check: (history, { steps }) => mismatchText(history, steps, history.settings.samplerTolerance),
  }),
  rule({
    id: 'sampler_broken',
    level: 'error',
    condition: 'sampler and trainer differed by more than `nats` a token in the last `steps` steps',
    thresholds: { steps: 10, nats: 1 },
    why: 'Sampler and trainer are not the same policy: stale weights, other tokens or another temperature.',
    suggestion: 'Stop; check that the sampler gets the new weights, and that both see the same token ids.',
    check: (history, { steps, nats }) => mismatchText(history, steps, nats),
  }),
];

function klText(history: History, steps: number, limit: number): string | undefined {
  const kl = history.lastMean('kl', steps);
  return kl === undefined || kl <= limit ? undefined : `mean KL ${number(kl)} in the last ${steps} steps`;
}

function mismatchText(history: History, steps: number, limit = Number.POSITIVE_INFINITY): string | undefined {
  const difference = history.lastMean('sampling/sampling_logp_difference/mean', steps);
  if (difference === undefined || difference <= limit) return undefined;
  return `log-probabilities of sampler and trainer differ by ${number(difference)} a token in the last ${steps} steps`;
}

function divergence(history: History, accuracy: 'flat' | 'regressed'): string | undefined {
  const { reward } = history;
  if (reward?.learning !== 'improved' || isSolved(history)) return undefined;
  const { heldOut } = history;
  if (heldOut?.metric !== 'eval/sampled_accuracy' || heldOut.learning !== accuracy) return undefined;
  const up = signedDifference(reward.difference, reward.interval);
  return `training reward ${up}, held-out accuracy ${signedDifference(heldOut.difference, heldOut.interval)}`;
}
