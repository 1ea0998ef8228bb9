// The reward model made of reward functions: their weighted sum, and whatever they do wrong as an error on the trajectories.
import { GradusError, kindOf, messageOf } from '../errors.ts';
import { frozenCopy } from '../frozen-copy.ts';
import { meanMetrics } from '../logging.ts';
import type { RewardFunction, RewardInput, RewardModel, WeightedReward } from '../rewards.ts';
import { type Example, finalText, type Reward, type Trajectory, wasPlayed } from '../rl.ts';
import { withinTime } from '../time-limits.ts';

export interface WeightedRewardsOptions {
  /**
   * Milliseconds that one call of a reward function may take. A function that never gives up the thread cannot be stopped.
   * @default 30_000
   */
  readonly timeLimit?: number;
}

/** What one reward function made of a group: scores, or why there are none. */
type Verdict =
  | { readonly scores: readonly (number | null)[]; readonly metrics: Readonly<Record<string, number>> }
  | { readonly error: string };

/**
 * Scores Σ weight · part over the parts that apply; `null` if none does.
 *
 * A function that throws, takes too long or answers anything but one finite number or `null` a completion is recorded under its name in
 * every trajectory's `errors`, and their scores are `null`: a failure is never scored 0. Functions receive frozen copies. Trajectories
 * that were not played, as `wasPlayed` says, are not shown to them and score `null`.
 *
 * Throws `REWARD_NAME_TAKEN` if two rewards have one name.
 */
export function weightedRewards<E extends Example = Example>(
  rewards: readonly WeightedReward[],
  options: WeightedRewardsOptions = {},
): RewardModel<E> {
  const { timeLimit = 30_000 } = options;
  const taken = rewards.find(({ name }, i) => rewards.findIndex((other) => other.name === name) !== i);
  if (taken) {
    throw new GradusError('REWARD_NAME_TAKEN', `two rewards are called ${JSON.stringify(taken.name)}`, {
      hint: 'give one of them another name: metrics are kept by name',
    });
  }
  const unscored: Reward = { score: null, parts: Object.fromEntries(rewards.map(({ name }) => [name, null])) };
  return {
    async score(example, trajectories) {
      const scorable = trajectories.filter(wasPlayed);
      if (scorable.length === 0) return trajectories.map(() => unscored);
      const input = inputOf(example, scorable);
      const verdicts = await Promise.all(rewards.map(({ score }) => judge(score, input, timeLimit)));
      const scored = new Map(scorable.map((trajectory, i) => [trajectory, combine(rewards, verdicts, i)]));
      return trajectories.map((trajectory) => scored.get(trajectory) ?? unscored);
    },
  };
}

function inputOf(example: Example, trajectories: readonly Trajectory[]): Omit<RewardInput, 'log'> {
  return frozenCopy({
    prompts: trajectories.map(({ steps }) => steps.at(-1)!.state.messages),
    completions: trajectories.map(finalText),
    completionIds: trajectories.map(({ steps }) => steps.at(-1)!.tokens.completionIds),
    columns: Object.fromEntries(Object.entries(example).map(([name, value]) => [name, trajectories.map(() => value)])),
  });
}

async function judge(score: RewardFunction, input: Omit<RewardInput, 'log'>, timeLimit: number): Promise<Verdict> {
  const logged: Record<string, number>[] = [];
  const log = (name: string, value: number) => {
    if (!Number.isFinite(value)) throw new TypeError(`log(${JSON.stringify(name)}, ${value}) is not a finite number`);
    logged.push({ [name]: value });
  };
  try {
    const answer = await withinTime(async () => score(Object.freeze({ ...input, log })), timeLimit);
    return { scores: checkedScores(answer, input.completions.length), metrics: meanMetrics(logged) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** The answer of user code, which may be anything, as scores; throws a TypeError that says what is wrong with it. */
function checkedScores(answer: unknown, count: number): (number | null)[] {
  if (!Array.isArray(answer)) throw new TypeError(`it returned ${kindOf(answer)}, not an array of scores`);
  if (answer.length !== count) throw new TypeError(`it returned ${answer.length} scores for ${count} completions`);
  for (const [i, score] of answer.entries()) {
    if (score === null || Number.isFinite(score)) continue;
    const found = typeof score === 'number' ? String(score) : kindOf(score);
    throw new TypeError(`its score of completion ${i + 1} is ${found}, not a finite number or null`);
  }
  return [...answer];
}

/** The verdicts on trajectory `i`, as one. */
function combine(rewards: readonly WeightedReward[], verdicts: readonly Verdict[], i: number): Reward {
  const parts: Record<string, number | null> = {};
  const errors: Record<string, string> = {};
  let score: number | null = null;
  for (const [r, { name, weight = 1 }] of rewards.entries()) {
    const verdict = verdicts[r]!;
    const part = 'error' in verdict ? null : verdict.scores[i]!;
    parts[name] = part;
    if ('error' in verdict) errors[name] = verdict.error;
    if (part !== null) score = (score ?? 0) + weight * part;
  }
  const failed = Object.keys(errors).length > 0;
  const metrics = meanMetrics(verdicts.flatMap((verdict) => ('error' in verdict ? [] : [verdict.metrics])));
  return {
    score: failed ? null : score,
    parts,
    ...(failed && { errors }),
    ...(Object.keys(metrics).length > 0 && { metrics }),
  };
}
