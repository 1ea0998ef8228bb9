// The rules of run health: when each fires, why it matters and what to change. docs/health.md is generated from this table.
//
// Rules look at windows of steps, and do not fire if a metric they need was not measured. The thresholds are based on axolotl's notes on
// training stability, TRL's and prime-rl's documentation of their metrics, and the warning signs on which GRPO guides agree.
import type { History } from './history.ts';
import type { AlertLevel, RewardChange } from './records.ts';
import { signedDifference } from './verdict.ts';

export interface HealthRule {
  /** The name of the rule in alerts, which never changes. */
  readonly id: string;
  readonly level: AlertLevel;
  /** When the rule fires, in words. */
  readonly condition: string;
  readonly why: string;
  /** What to change. */
  readonly suggestion: string;
  /** Returns the observation, with numbers, if the rule fires. */
  readonly check: (history: History) => string | undefined;
}

interface RuleRow<T> extends Omit<HealthRule, 'condition' | 'check'> {
  readonly thresholds: T;
  readonly condition: (thresholds: T) => string;
  readonly check: (history: History, thresholds: T) => string | undefined;
}

function rule<const T extends Readonly<Record<string, number>>>({
  thresholds,
  condition,
  check,
  ...row
}: RuleRow<T>): HealthRule {
  return { ...row, condition: condition(thresholds), check: (history) => check(history, thresholds) };
}

const percent = (value: number) => `${Math.round(100 * value)} %`;
const number = (value: number) => String(Number(value.toPrecision(3)));

/** Whether most groups are all good and hardly any all bad, so that a lack of progress is no problem. */
const isSolved = (history: History) =>
  (history.lastMean('groups/frac_all_good', 10) ?? 0) >= 0.5 &&
  (history.lastMean('groups/frac_all_bad', 10) ?? 1) < 0.1;

export const healthRules: readonly HealthRule[] = [
  rule({
    id: 'no_learning_signal',
    level: 'error',
    thresholds: { steps: 20, all_bad: 0.5 },
    condition: ({ all_bad, steps }) =>
      `no group in the last ${steps} steps was mixed, and at least ${percent(all_bad)} of groups were all bad`,
    why: 'Advantages compare the completions of a group. If all of them have the same score, the policy learns nothing.',
    suggestion:
      'Test the reward on known answers (gradus rewards test), use easier problems, or raise num_generations or temperature.',
    check(history, { steps, all_bad }) {
      const mixed = history.last('groups/frac_mixed', steps);
      const bad = history.lastMean('groups/frac_all_bad', steps);
      if (!mixed?.every((value) => value === 0) || bad === undefined || bad < all_bad) return undefined;
      return `no mixed groups in the last ${steps} steps; ${percent(bad)} of groups were all bad`;
    },
  }),
  rule({
    id: 'groups_all_bad',
    level: 'warning',
    thresholds: { steps: 10, fraction: 0.8 },
    condition: ({ fraction, steps }) =>
      `at least ${percent(fraction)} of groups in the last ${steps} steps were all bad`,
    why: 'The task is too hard for the policy, or the reward is too strict, so that the policy learns from few groups.',
    suggestion:
      'Use easier problems, give partial credit, or raise num_generations. Read samples to see which answers are marked wrong.',
    check(history, { steps, fraction }) {
      const bad = history.lastMean('groups/frac_all_bad', steps);
      if (bad === undefined || bad < fraction) return undefined;
      return `${percent(bad)} of groups in the last ${steps} steps were all bad`;
    },
  }),
  rule({
    id: 'groups_all_good',
    level: 'info',
    thresholds: { steps: 10, fraction: 0.8 },
    condition: ({ fraction, steps }) =>
      `at least ${percent(fraction)} of groups in the last ${steps} steps were all good`,
    why: 'The policy solves nearly every problem, so more steps teach it little.',
    suggestion: 'Stop here, or continue with harder problems.',
    check(history, { steps, fraction }) {
      const good = history.lastMean('groups/frac_all_good', steps);
      if (good === undefined || good < fraction) return undefined;
      return `${percent(good)} of groups in the last ${steps} steps were all good`;
    },
  }),
  rule({
    id: 'zero_variance_groups',
    level: 'warning',
    thresholds: { steps: 10, fraction: 0.8 },
    condition: ({ fraction, steps }) =>
      `at least ${percent(fraction)} of groups in the last ${steps} steps had equal rewards, and metrics do not show whether these were good or bad`,
    why: 'A group with equal rewards has no advantages: its rollouts cost time, and the policy learns nothing from them.',
    suggestion: 'If the mean reward is low, use easier problems; if it is high, use harder ones.',
    check(history, { steps, fraction }) {
      const equal = history.lastMean('frac_reward_zero_std', steps);
      if (equal === undefined || equal < fraction || history.last('groups/frac_mixed', steps)) return undefined;
      const reward = history.lastMean('reward', steps);
      const mean = reward === undefined ? '' : `; the mean reward is ${number(reward)}`;
      return `${percent(equal)} of groups in the last ${steps} steps had equal rewards${mean}`;
    },
  }),
  rule({
    id: 'reward_never_given',
    level: 'warning',
    thresholds: { steps: 20 },
    condition: ({ steps }) => `a reward function returned 0 for every completion in the last ${steps} steps`,
    why: 'The policy learns nothing from a reward that is always 0. Often the cause is a pattern that can never match.',
    suggestion:
      'Test the reward on an answer that must score (gradus rewards test), and compare it with samples of the run.',
    check(history, { steps }) {
      const zero = (values: readonly number[] | undefined) => values?.every((value) => value === 0);
      const names = history.rewardNames.filter(
        (name) => zero(history.last(`rewards/${name}/mean`, steps)) && zero(history.last(`rewards/${name}/std`, steps)),
      );
      return names.length === 0 ? undefined : `${names.join(', ')}: 0 for every completion in the last ${steps} steps`;
    },
  }),
  rule({
    id: 'reward_errors',
    level: 'warning',
    thresholds: { steps: 10, fraction: 0.01 },
    condition: ({ fraction, steps }) =>
      `rewards failed for at least ${percent(fraction)} of completions in the last ${steps} steps`,
    why: 'Completions whose reward failed are not trained on, even if they are the ones that should score low.',
    suggestion:
      'Read the errors in rollouts/ and fix the reward. max_error_fraction sets how many failures end the run.',
    check(history, { steps, fraction }) {
      const failed = history.lastMean('frac_reward_errors', steps);
      if (failed === undefined || failed < fraction) return undefined;
      return `rewards failed for ${number(100 * failed)} % of completions in the last ${steps} steps`;
    },
  }),
  rule({
    id: 'reward_flat',
    level: 'warning',
    thresholds: { steps: 50 },
    condition: ({ steps }) =>
      `after at least ${steps} steps, the training reward of the last window differs from that of the first by no more than the margin, and the task is not solved`,
    why: 'Training has not changed the reward so far: the whole interval of the change lies within the margin.',
    suggestion:
      'Check that grad_norm is above 0 and that enough groups are mixed (groups/frac_mixed), or raise learning_rate.',
    check(history, { steps }) {
      const change = history.reward;
      if (history.steps < steps || change?.learning !== 'flat' || isSolved(history)) return undefined;
      return rewardText(change);
    },
  }),
  rule({
    id: 'reward_fell',
    level: 'warning',
    thresholds: {},
    condition: () => 'the training reward of the last window is below that of the first by more than the margin',
    why: 'Training makes the policy worse at what it is rewarded for.',
    suggestion: 'Lower learning_rate or raise beta, and continue from the best checkpoint.',
    check: ({ reward }) => (reward?.learning === 'regressed' ? rewardText(reward) : undefined),
  }),
  rule({
    id: 'reward_spread_gone',
    level: 'warning',
    thresholds: { steps: 10, share: 0.1 },
    condition: ({ share, steps }) =>
      `reward_std in the last ${steps} steps is below ${percent(share)} of its value in the first ${steps} steps, and the reward has not improved`,
    why: 'All completions have nearly the same reward; the policy may have collapsed to a single response.',
    suggestion: 'Read samples to see whether they are all alike. Raise temperature or beta, or lower learning_rate.',
    check(history, { steps, share }) {
      const first = history.firstMean('reward_std', steps);
      const last = history.lastMean('reward_std', steps);
      if (first === undefined || last === undefined || last >= share * first) return undefined;
      if (!history.hasNotImproved) return undefined;
      return `reward_std fell from ${number(first)} to ${number(last)} (means over ${steps} steps)`;
    },
  }),
  rule({
    id: 'entropy_collapse',
    level: 'warning',
    thresholds: { steps: 10, entropy: 0.01 },
    condition: ({ steps, entropy }) =>
      `the mean entropy in the last ${steps} steps is below ${entropy}, and the task is not solved`,
    why: 'Without entropy, the policy samples the same completion again and again and explores no alternatives.',
    suggestion:
      'Continue from an earlier checkpoint with a lower learning_rate, or a higher temperature, beta or epsilon_high.',
    check(history, { steps, entropy }) {
      const last = history.lastMean('entropy', steps);
      if (last === undefined || last >= entropy || isSolved(history)) return undefined;
      return `the mean entropy in the last ${steps} steps is ${number(last)}`;
    },
  }),
  rule({
    id: 'entropy_explosion',
    level: 'warning',
    thresholds: { steps: 10, entropy: 1, factor: 2 },
    condition: ({ steps, entropy, factor }) =>
      `the mean entropy in the last ${steps} steps is above ${entropy} and above ${factor} times that of the first ${steps} steps, and the reward has not improved`,
    why: 'The completions of the policy are turning into random text.',
    suggestion: 'Read samples; lower learning_rate or raise beta.',
    check(history, { steps, entropy, factor }) {
      const first = history.firstMean('entropy', steps);
      const last = history.lastMean('entropy', steps);
      if (first === undefined || last === undefined || last <= Math.max(entropy, factor * first)) return undefined;
      if (!history.hasNotImproved) return undefined;
      return `entropy rose from ${number(first)} to ${number(last)} (means over ${steps} steps)`;
    },
  }),
  rule({
    id: 'kl_high',
    level: 'info',
    thresholds: { steps: 10, kl: 0.5 },
    condition: ({ steps, kl }) =>
      `the mean KL divergence in the last ${steps} steps is above ${kl}, and the reward has improved`,
    why: 'The policy is far from the model it started from, and may earn its reward in unintended ways.',
    suggestion: 'Read samples and look at held-out accuracy before you trust the reward.',
    check: (history, { steps, kl }) =>
      history.reward?.learning === 'improved' ? klText(history, steps, kl) : undefined,
  }),
  rule({
    id: 'kl_drift',
    level: 'warning',
    thresholds: { steps: 10, kl: 0.5 },
    condition: ({ steps, kl }) =>
      `the mean KL divergence in the last ${steps} steps is above ${kl}, and the reward has not improved`,
    why: 'The policy moves away from the model it started from without a gain in reward.',
    suggestion: 'Raise beta or lower learning_rate.',
    check: (history, { steps, kl }) => (history.hasNotImproved ? klText(history, steps, kl) : undefined),
  }),
  rule({
    id: 'kl_explosion',
    level: 'error',
    thresholds: { steps: 10, kl: 2 },
    condition: ({ steps, kl }) =>
      `the mean KL divergence in the last ${steps} steps is above ${kl}, and the reward has not improved`,
    why: 'The policy has little in common with the model it started from, and has usually lost its abilities.',
    suggestion: 'Stop, and continue from an earlier checkpoint with a lower learning_rate and a higher beta.',
    check: (history, { steps, kl }) => (history.hasNotImproved ? klText(history, steps, kl) : undefined),
  }),
  rule({
    id: 'completions_clipped',
    level: 'warning',
    thresholds: { steps: 10, fraction: 0.3 },
    condition: ({ fraction, steps }) =>
      `more than ${percent(fraction)} of completions in the last ${steps} steps were cut off`,
    why: 'A completion that is cut off before its answer scores low because of its length.',
    suggestion: 'Raise max_completion_length, or reward short completions.',
    check: (history, { steps, fraction }) => clippedText(history, steps, fraction),
  }),
  rule({
    id: 'completions_never_end',
    level: 'error',
    thresholds: { steps: 10, fraction: 0.95 },
    condition: ({ fraction, steps }) =>
      `more than ${percent(fraction)} of completions in the last ${steps} steps were cut off, and the reward has not improved`,
    why: 'The policy hardly ever writes an end token. Often the chat template is not applied, or the wrong token counts as the end.',
    suggestion: 'Check the chat template (gradus preflight); if it is right, raise max_completion_length.',
    check: (history, { steps, fraction }) =>
      history.hasNotImproved ? clippedText(history, steps, fraction) : undefined,
  }),
  rule({
    id: 'length_drift',
    level: 'warning',
    thresholds: { steps: 10, factor: 1.5, share: 0.7 },
    condition: ({ share, steps, factor }) =>
      `the mean length in the last ${steps} steps is above ${factor} times that of the first ${steps} steps, and above ${percent(share)} of the limit`,
    why: 'Growing lengths are a common sign that the policy exploits the reward, and completions will soon be cut off.',
    suggestion:
      'Read the longest completions. Penalise length, or try loss_type dr_grpo, which does not favour long wrong answers.',
    check(history, { steps, factor, share }) {
      const { maxTokens } = history.settings;
      const first = history.firstMean('completions/mean_length', steps);
      const last = history.lastMean('completions/mean_length', steps);
      if (maxTokens === undefined || first === undefined || last === undefined) return undefined;
      if (last <= factor * first || last <= share * maxTokens) return undefined;
      return `mean length rose from ${number(first)} to ${number(last)} of at most ${maxTokens} tokens (means over ${steps} steps)`;
    },
  }),
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
    thresholds: {},
    condition: () => 'the training reward improved, and the change of held-out accuracy lies within the margin',
    why: 'The reward does not measure what you want, or the policy memorises its training problems.',
    suggestion: 'Read samples with a high reward to see what earns it, and use more varied training problems.',
    check: (history) => divergence(history, 'flat'),
  }),
  rule({
    id: 'reward_up_accuracy_down',
    level: 'error',
    thresholds: {},
    condition: () => 'the training reward improved, and held-out accuracy fell by more than the margin',
    why: 'The policy exploits the reward (reward hacking): it rises while the accuracy that it stands for falls.',
    suggestion: 'Stop, read samples with a high reward to see what earns it, and fix the reward before you continue.',
    check: (history) => divergence(history, 'regressed'),
  }),
  rule({
    id: 'gradient_vanishing',
    level: 'warning',
    thresholds: { steps: 10, norm: 0.001, mixed: 0.2 },
    condition: ({ mixed, norm, steps }) =>
      `grad_norm was below ${norm} in each of the last ${steps} steps, although at least ${percent(mixed)} of groups were mixed, and the reward has not improved`,
    why: 'The groups have something to teach, but the gradients are too small to change the policy.',
    suggestion: 'Check scale_rewards and lora.target_modules, and whether rewards differ by more than rounding.',
    check(history, { steps, norm, mixed }) {
      const norms = history.last('grad_norm', steps);
      const groups = history.lastMean('groups/frac_mixed', steps);
      if (!norms?.every((value) => value < norm) || groups === undefined || groups < mixed) return undefined;
      if (!history.hasNotImproved) return undefined;
      return `grad_norm was at most ${number(Math.max(...norms))} in the last ${steps} steps, although ${percent(groups)} of groups were mixed`;
    },
  }),
  rule({
    id: 'gradient_exploding',
    level: 'warning',
    thresholds: { steps: 10, times: 3, norm: 10 },
    condition: ({ norm, times, steps }) =>
      `grad_norm, measured before clipping, was above ${norm} in at least ${times} of the last ${steps} steps`,
    why: 'Clipping keeps only the direction of gradients this large, and that is often noise.',
    suggestion:
      'Lower learning_rate or max_grad_norm, raise prompts_per_step, and look for rewards that are much larger than others.',
    check(history, { steps, times, norm }) {
      const large = history.last('grad_norm', steps)?.filter((value) => value > norm) ?? [];
      if (large.length < times) return undefined;
      return `grad_norm was above ${norm} in ${large.length} of the last ${steps} steps, up to ${number(Math.max(...large))}`;
    },
  }),
  rule({
    id: 'ratios_clipped',
    level: 'warning',
    thresholds: { steps: 10, fraction: 0.3 },
    condition: ({ fraction, steps }) =>
      `more than ${percent(fraction)} of importance ratios in the last ${steps} steps were clipped`,
    why: 'The policy changes more in one step than its rollouts support, so that many tokens have no gradient.',
    suggestion: 'Lower learning_rate or num_iterations.',
    check(history, { steps, fraction }) {
      const clipped = history.lastMean('clip_ratio/region_mean', steps);
      if (clipped === undefined || clipped <= fraction) return undefined;
      return `${percent(clipped)} of importance ratios in the last ${steps} steps were clipped`;
    },
  }),
  rule({
    id: 'sampler_mismatch',
    level: 'warning',
    thresholds: { steps: 10 },
    condition: ({ steps }) =>
      `log-probabilities of sampler and trainer differed in the last ${steps} steps by more than rounding explains: 0.05 nats per token, or 0.5 with a quantised sampler; five times that in a single step ends the run`,
    why: 'Gradients are computed as if the trainer had sampled the tokens. The more the sampler differs, the more they are biased.',
    suggestion:
      'Sample with higher precision (native.rollout_dtype) and without top_p or top_k, or set importance_sampling_correction.',
    check: (history, { steps }) => mismatchText(history, steps, history.settings.samplerTolerance),
  }),
  rule({
    id: 'sampler_broken',
    level: 'error',
    thresholds: { steps: 10, nats: 1 },
    condition: ({ nats, steps }) =>
      `log-probabilities of sampler and trainer differed by more than ${nats} nats per token in the last ${steps} steps`,
    why: 'Sampler and trainer are not the same policy: the sampler has old weights, other tokens or another temperature.',
    suggestion: 'Stop, and check that the sampler gets the new weights and that both use the same token ids.',
    check: (history, { steps, nats }) => mismatchText(history, steps, nats),
  }),
];

function rewardText({ before, after, difference, interval, window }: RewardChange): string {
  return `reward ${number(before)} in the first ${window} steps, ${number(after)} in the last: ${signedDifference(difference, interval)}`;
}

function clippedText(history: History, steps: number, limit: number): string | undefined {
  const clipped = history.lastMean('completions/clipped_ratio', steps);
  return clipped === undefined || clipped <= limit
    ? undefined
    : `${percent(clipped)} of completions in the last ${steps} steps were cut off`;
}

function klText(history: History, steps: number, limit: number): string | undefined {
  const kl = history.lastMean('kl', steps);
  return kl === undefined || kl <= limit
    ? undefined
    : `the mean KL divergence in the last ${steps} steps is ${number(kl)}`;
}

function mismatchText(history: History, steps: number, limit = Number.POSITIVE_INFINITY): string | undefined {
  const difference = history.lastMean('sampling/sampling_logp_difference/mean', steps);
  if (difference === undefined || difference <= limit) return undefined;
  return `log-probabilities of sampler and trainer differed by ${number(difference)} nats per token in the last ${steps} steps`;
}

function divergence(history: History, accuracy: 'flat' | 'regressed'): string | undefined {
  const { reward } = history;
  if (reward?.learning !== 'improved' || isSolved(history)) return undefined;
  const { heldOut } = history;
  if (heldOut?.metric !== 'eval/sampled_accuracy' || heldOut.learning !== accuracy) return undefined;
  const up = signedDifference(reward.difference, reward.interval);
  return `training reward changed by ${up}, held-out accuracy by ${signedDifference(heldOut.difference, heldOut.interval)}`;
}
