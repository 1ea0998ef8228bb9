// Conditions that a run must meet to count as a success: `--require 'final_success_rate>=0.9'`.
import { existingNames, nearest } from '../common/nearest.ts';
import { call, option } from '../common/words.ts';
import { rewardName, userFunctions } from '../config/reward-names.ts';
import type { Config } from '../config/schema.ts';
import { GradusError } from '../errors.ts';
import { groupReasons } from '../rl.ts';
import { evaluationMetricNames } from '../runs/evaluation-metrics.ts';
import type { CheckedRequirement } from './result-schema.ts';

const comparisons = {
  '>=': (a: number, b: number) => a >= b,
  '>': (a: number, b: number) => a > b,
  '<=': (a: number, b: number) => a <= b,
  '<': (a: number, b: number) => a < b,
} as const;

export interface Requirement {
  readonly metric: string;
  readonly comparison: keyof typeof comparisons;
  readonly value: number;
}

/** Metrics in the result of every run, the first ones if it evaluates. */
const evaluationSummaryNames = ['final_success_rate', 'random_baseline', 'lift'];
const summaryNames = [...evaluationSummaryNames, 'mean_reward'];

/** Metrics of every evaluation that no checkpoint is the best by. */
const episodeNames = ['completions/mean_length', 'completions/clipped_ratio', 'num_turns/mean', 'unscored'].map(
  (name) => `eval/${name}`,
);

/** Metrics of steps in every configuration. */
const stepNames = [
  'reward',
  'reward_std',
  'frac_reward_zero_std',
  'frac_reward_errors',
  'loss',
  'grad_norm',
  'learning_rate',
  'entropy',
  'kl',
  ...groupReasons.map((reason) => `groups/frac_${reason}`),
  ...['mean', 'min', 'max'].flatMap((name) => [`completions/${name}_length`, `completions/${name}_terminated_length`]),
  'completions/clipped_ratio',
  'clip_ratio/low_mean',
  'clip_ratio/high_mean',
  'clip_ratio/region_mean',
];

/** Prefixes of metrics that may or may not be measured. */
const openNames = /^(clip_ratio|sampling|rewards|eval|tools|stop)\//;

/** What is this near to a metric of every evaluation is a slip, or a `k` that is not asked for. Scores of environments are not known here. */
const MOST_EDITS = 2;
const isEvaluation = /^eval\/(?!rewards\/)/;

/** @param text such as `mean_reward>=0.5`. Throws `REQUIREMENT_INVALID`. */
export function parseRequirement(text: string): Requirement {
  const [, metric, comparison, value] = /^\s*([^\s<>=]+)\s*(>=|<=|>|<)\s*(\S+)\s*$/.exec(text) ?? [];
  if (metric !== undefined && Number.isFinite(Number(value))) {
    return { metric, comparison: comparison as Requirement['comparison'], value: Number(value) };
  }
  throw new GradusError(
    'REQUIREMENT_INVALID',
    `${option('require')} ${text}: expected a metric, >=, >, <= or <, and a number`,
    {
      hint: `for example ${option('require', 'final_success_rate>=0.9')}`,
    },
  );
}

/** Parses the requirements for a run. Throws `REQUIREMENT_INVALID` and, for metrics that the configuration cannot have, `METRIC_UNKNOWN`. */
export function readRequirements(texts: readonly string[] = [], config: Config): Requirement[] {
  const requirements = texts.map(parseRequirement);
  assertMeasurable(requirements, config);
  return requirements;
}

function assertMeasurable(requirements: readonly Requirement[], config: Config): void {
  const names = [
    ...summaryNames,
    ...(config.eval ? [...evaluationMetricNames(rewardNames(config), config.eval.k), ...episodeNames] : []),
    ...stepNames,
  ];
  // Rewards and environments of the user's may log metrics under any name, but hardly one that looks like a slip.
  const isOpen = userFunctions(config).length > 0 || config.environment !== null;
  for (const { metric } of requirements) {
    if (config.eval === null && (metric.startsWith('eval/') || evaluationSummaryNames.includes(metric))) {
      throw new GradusError(
        'METRIC_UNKNOWN',
        `${option('require')}: the run has no metric ${metric}, since eval is null`,
        {
          hint: 'set eval, so that held-out problems are asked, or require mean_reward',
          path: metric,
        },
      );
    }
    if (names.includes(metric)) continue;
    const isSlip = isEvaluation.test(metric) && nearest(metric, names, MOST_EDITS) !== undefined;
    if (openNames.test(metric) && !isSlip) continue;
    if (!isOpen || nearest(metric, names) !== undefined) throw unknownMetric(metric, names);
  }
}

/** @param metrics the measured values by name */
export function checkRequirements(
  requirements: readonly Requirement[],
  metrics: Readonly<Record<string, number>>,
): CheckedRequirement[] {
  return requirements.map((requirement) => {
    const actual = metrics[requirement.metric];
    if (actual === undefined) return { ...requirement, met: false };
    return { ...requirement, actual, met: comparisons[requirement.comparison](actual, requirement.value) };
  });
}

/**
 * The error for the first requirement that is not met; undefined if all are met.
 * @param run its name or path for commands
 */
export function requirementFailure(
  checked: readonly CheckedRequirement[],
  metrics: Readonly<Record<string, number>>,
  run = 'latest',
): { code: string; message: string; hint: string } | undefined {
  const unmeasured = checked.find(({ actual }) => actual === undefined);
  if (unmeasured) {
    const { code, message, hint } = unknownMetric(unmeasured.metric, Object.keys(metrics));
    return { code, message, hint: hint! };
  }
  const missed = checked.filter(({ met }) => !met);
  if (missed.length === 0) return undefined;
  const parts = missed.map(
    ({ metric, comparison, value, actual }) =>
      `${metric} is ${Number(actual!.toPrecision(4))}, not ${comparison} ${value}`,
  );
  return {
    code: 'BELOW_BAR',
    message: `the run completed, but ${parts.join('; ')}`,
    hint: `${call('diagnose', run)} tells what may have held it back`,
  };
}

function unknownMetric(metric: string, names: readonly string[]): GradusError {
  return new GradusError('METRIC_UNKNOWN', `${option('require')}: the run has no metric ${metric}`, {
    hint: existingNames(metric, names),
    path: metric,
  });
}

function rewardNames({ reward }: Config): string[] {
  return reward.map(rewardName);
}
