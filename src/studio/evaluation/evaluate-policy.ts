// Evaluates a policy on given problems: greedy and sampled accuracy, rewards and pass@k, each with its interval.
import { unlessAborted } from '../../cancellation.ts';
import { completionMetrics, episodeMetrics } from '../../grpo/metrics.ts';
import { type Interval, meanInterval, wilsonInterval } from '../../intervals.ts';
import { meanMetrics } from '../../logging.ts';
import type { Policy } from '../../policy.ts';
import { streamSeed } from '../../random.ts';
import type { Progress, RewardModel } from '../../rewards.ts';
import { correctness, type Example, type Reward, type Trajectory } from '../../rl.ts';
import type { Generator, RolloutOptions } from '../../rollout-generator.ts';
import type { EvaluationRecord } from '../../runs/records.ts';
import { mean } from '../../statistics.ts';

export interface EvaluationOptions {
  readonly policy: Policy;
  readonly generator: (options: Partial<RolloutOptions>) => Generator;
  readonly rewardModel: RewardModel;
  /** The names of the reward functions. A completion is correct if the first of them gives it at least 1. */
  readonly rewardNames: readonly string[];
  /** The values of k for which pass@k is measured. Each problem is sampled max(k) times. */
  readonly k: readonly number[];
  /** The temperature of samples. */
  readonly temperature: number;
  readonly seed: number;
  /** The progress of training, for rewards that depend on it. */
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
}

/** A trajectory with its reward. */
interface Scored {
  readonly trajectory: Trajectory;
  readonly reward: Reward;
}

/** The number of completions that are sampled together: enough to fill any batch, but few enough that a cancelled evaluation ends soon. */
const COMPLETIONS_AT_ONCE = 256;

/** The names of the metrics that every evaluation may have; rewards and environments add their own. */
export function evaluationMetricNames(rewardNames: readonly string[], k: readonly number[]): string[] {
  return [
    'eval/accuracy',
    'eval/reward',
    'eval/sampled_accuracy',
    'eval/sampled_reward',
    ...rewardNames.map((name) => `eval/rewards/${name}/mean`),
    ...k.map((count) => `eval/pass@${count}`),
  ];
}

/**
 * Answers each problem greedily once, and max(k) times by sampling. Returns undefined if it was cancelled.
 *
 * - `eval/accuracy`, `eval/reward`: of the greedy answers
 * - `eval/sampled_accuracy`, `eval/sampled_reward`, `eval/rewards/<name>/mean`, `eval/num_turns/mean`, `eval/completions/…`: of
 *   the samples
 * - `eval/pass@k`: the chance that at least one of k samples is correct (Chen et al. 2021, arXiv:2107.03374)
 * - `eval/<name>`: whatever rewards and environments log, of the samples; `numeric_match/lenient` beside `numeric_match/strict`, for example
 *
 * Completions that no reward could judge are left out of all metrics except `eval/unscored`, their fraction among the samples.
 */
export async function evaluatePolicy(
  problems: readonly Example[],
  step: number,
  options: EvaluationOptions,
): Promise<EvaluationRecord | undefined> {
  const { k, temperature, rewardNames, signal } = options;
  const samples = Math.max(...k);
  const greedy = await answer(problems, { temperature: 0 }, 1, options);
  const sampled = await answer(problems, { temperature }, samples, options);
  if (signal?.aborted) return undefined;

  const judged = (group: readonly Scored[]) => known(group.map(({ reward }) => correctness(reward, rewardNames[0]!)));
  const perProblem = sampled.map((group) => meanOrNull(judged(group)));
  const perProblemReward = sampled.map((group) => meanOrNull(known(group.map(({ reward }) => reward.score))));
  const estimates: Record<string, { values: readonly number[]; interval: (values: readonly number[]) => Interval }> = {
    'eval/accuracy': { values: greedy.flatMap(judged), interval: proportionInterval },
    'eval/reward': { values: known(greedy.flat().map(({ reward }) => reward.score)), interval: rewardInterval },
    'eval/sampled_accuracy': { values: known(perProblem), interval: proportionInterval },
    'eval/sampled_reward': { values: known(perProblemReward), interval: rewardInterval },
    ...Object.fromEntries(
      k.map((count) => [
        `eval/pass@${count}`,
        { values: sampled.map(judged).flatMap((correct) => passAt(count, correct)), interval: proportionInterval },
      ]),
    ),
  };
  const measured = Object.entries(estimates).filter(([, { values }]) => values.length > 0);
  // Rewards and environments log under names of their choice, which must not take the place of an estimate.
  const logged = Object.entries(sampleMetrics(sampled.flat())).map(([name, value]) => [`eval/${name}`, value] as const);
  const others = logged.filter(([name]) => !(name in estimates));
  return {
    step,
    problems: problems.length,
    samples_per_problem: samples,
    temperature,
    metrics: {
      ...Object.fromEntries(measured.map(([name, { values }]) => [name, mean(values)])),
      ...Object.fromEntries(others),
    },
    intervals: Object.fromEntries(measured.map(([name, { values, interval }]) => [name, interval(values)])),
    per_problem: perProblem,
    per_problem_reward: perProblemReward,
  };
}

/** Plays and scores episodes; returns a group of them for each problem, or fewer groups if it is cancelled. */
async function answer(
  problems: readonly Example[],
  sampling: Partial<RolloutOptions>,
  samplesPerExample: number,
  { policy, generator, rewardModel, progress, seed, signal }: EvaluationOptions,
): Promise<Scored[][]> {
  const groups: Scored[][] = [];
  const size = Math.max(1, Math.floor(COMPLETIONS_AT_ONCE / samplesPerExample));
  for (let start = 0; start < problems.length && !signal?.aborted; start += size) {
    const examples = problems.slice(start, start + size);
    const trajectories = await generator(sampling).generate(examples, policy, {
      samplesPerExample,
      seed: streamSeed(seed, 'evaluation', start),
      ...(signal && { signal }),
    });
    // One group after another: all at once could exceed the time limits of rewards that start programs or query a judge.
    for (const [i, example] of examples.entries()) {
      const rewards = await unlessAborted(() => rewardModel.score(example, trajectories[i]!, progress), signal);
      if (!rewards) return groups;
      groups.push(trajectories[i]!.map((trajectory, j) => ({ trajectory, reward: rewards[j]! })));
    }
  }
  return groups;
}

/** The metrics of rollouts that evaluations have too. */
const rolloutNames: readonly string[] = ['num_turns/mean', 'completions/mean_length', 'completions/clipped_ratio'];

function sampleMetrics(samples: readonly Scored[]): Record<string, number> {
  const trajectories = samples.map(({ trajectory }) => trajectory);
  const played = Object.entries({ ...completionMetrics(trajectories), ...episodeMetrics(trajectories) });
  const parts = samples.map(({ reward }) => {
    const applied = Object.entries(reward.parts).filter((part): part is [string, number] => part[1] !== null);
    return Object.fromEntries(applied.map(([name, value]) => [`rewards/${name}/mean`, value]));
  });
  return {
    ...meanMetrics(samples.flatMap(({ reward, trajectory }) => [reward.metrics ?? {}, trajectory.metrics ?? {}])),
    ...meanMetrics(parts),
    ...Object.fromEntries(played.filter(([name]) => rolloutNames.includes(name))),
    unscored: samples.filter(({ reward }) => reward.score === null).length / samples.length,
  };
}

/** [1 − C(n − c, k) / C(n, k)] for n samples of which c are correct; empty if fewer than k could be judged. */
function passAt(k: number, correct: readonly number[]): number[] {
  const n = correct.length;
  if (n < k) return [];
  const wrong = n - correct.reduce((sum, value) => sum + value, 0);
  let allWrong = 1;
  for (let i = 0; i < k; i++) allWrong *= Math.max(0, wrong - i) / (n - i);
  return [1 - allWrong];
}

/**
 * The interval of a mean of values from 0 to 1, one for each problem. Samples of one problem are not independent, so problems count as trials.
 * Wilson's interval is for trials that are 0 or 1; values in between vary less, so that the interval is too wide rather than too narrow.
 */
function proportionInterval(values: readonly number[]): Interval {
  return wilsonInterval(
    values.reduce((sum, value) => sum + value, 0),
    values.length,
  );
}

/** Rewards that are all 0 or 1 are a proportion, whose interval has a width even if none of a few is 1. */
function rewardInterval(values: readonly number[]): Interval {
  return values.every((value) => value === 0 || value === 1) ? proportionInterval(values) : meanInterval(values);
}

function meanOrNull(values: readonly number[]): number | null {
  return values.length > 0 ? mean(values) : null;
}

function known(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}
