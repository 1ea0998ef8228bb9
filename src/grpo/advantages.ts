// Advantages: how much better each trajectory scored than the others of its group.

/** What a score's distance from its group's mean is divided by: the deviation of its group, of the whole batch, or nothing. */
export type ScaleRewards = 'group' | 'batch' | 'none';

export interface GroupAdvantagesOptions {
  /** @default 'group' */
  readonly scaleRewards?: ScaleRewards;
}

export interface GroupAdvantages {
  /** For each group, the advantage of each trajectory; 0 where there is no score or nothing to compare it with. */
  readonly advantages: readonly (readonly number[])[];
  /**
   * What the scores say of the batch; what cannot be computed is absent.
   * - `reward`, `reward_std`: mean and deviation of all scores.
   * - `groups/frac_mixed`, `groups/frac_all_good`, `groups/frac_all_bad`: the groups that teach something, those whose scores all
   *   equal at least 0.5 (halfway between the usual 0 for wrong and 1 for right), and those whose scores all equal less. They add up to 1;
   *   groups with fewer than two scores are not counted.
   * - `frac_reward_zero_std`: the last two together.
   */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Keeps the division finite, as small as TRL's. */
const EPSILON = 1e-4;
/** Deviations up to this are rounding. */
const NO_SPREAD = 1e-8;
const GOOD_SCORE = 0.5;

/**
 * Advantages A = (score − mean of the group) / (deviation + 10⁻⁴). Shao et al. 2024, arXiv:2402.03300, section 4.1.2;
 * without the division: Liu et al. 2025, arXiv:2503.20783.
 *
 * Deviations are sample deviations (n − 1). A score of `null` is left out of every mean and deviation and gets the advantage 0.
 * Unlike TRL's, the fractions are counted by group whatever the scores are divided by.
 *
 * @param scores for each group, the score of each trajectory
 */
export function groupAdvantages(
  scores: readonly (readonly (number | null)[])[],
  { scaleRewards = 'group' }: GroupAdvantagesOptions = {},
): GroupAdvantages {
  const groups = scores.map(scored);
  const batch = groups.flat();
  const batchDeviation = deviation(batch) ?? 0;
  const advantages = scores.map((group, i) => {
    const known = groups[i]!;
    if (!isMixed(known)) return group.map(() => 0);
    const center = mean(known)!;
    const scale = { group: deviation(known)! + EPSILON, batch: batchDeviation + EPSILON, none: 1 }[scaleRewards];
    return group.map((score) => (score === null ? 0 : (score - center) / scale));
  });
  return { advantages, metrics: { ...moments('reward', 'reward_std', batch), ...spreadMetrics(groups) } };
}

/** The mean and the sample deviation (n − 1) of what is known among some values, each under its name and absent where undefined. */
export function moments(
  meanName: string,
  deviationName: string,
  values: readonly (number | null)[],
): Record<string, number> {
  const known = scored(values);
  const [center, spread] = [mean(known), deviation(known)];
  return {
    ...(center !== undefined && { [meanName]: center }),
    ...(spread !== undefined && { [deviationName]: spread }),
  };
}

function spreadMetrics(groups: readonly (readonly number[])[]): Record<string, number> {
  const comparable = groups.filter((group) => group.length >= 2);
  if (comparable.length === 0) return {};
  const fraction = (holds: (group: readonly number[]) => boolean) =>
    comparable.filter(holds).length / comparable.length;
  return {
    frac_reward_zero_std: fraction((group) => !isMixed(group)),
    'groups/frac_mixed': fraction(isMixed),
    'groups/frac_all_good': fraction((group) => !isMixed(group) && group[0]! >= GOOD_SCORE),
    'groups/frac_all_bad': fraction((group) => !isMixed(group) && group[0]! < GOOD_SCORE),
  };
}

function scored(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

function isMixed(values: readonly number[]): boolean {
  return (deviation(values) ?? 0) > NO_SPREAD;
}

function mean(values: readonly number[]): number | undefined {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : undefined;
}

function deviation(values: readonly number[]): number | undefined {
  if (values.length < 2) return undefined;
  const center = mean(values)!;
  const squares = values.reduce((sum, value) => sum + (value - center) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}
