// Reward weights that change during training: by a schedule, or by how much each reward varies.
import type { Reward } from './rl.ts';

/**
 * A constant weight or a schedule: from one value to another over a number of steps, or through points [step, weight] with linear
 * interpolation. Before the first point the weight is that of the first, after the last that of the last.
 */
export type WeightSchedule =
  | number
  | { readonly from: number; readonly to: number; readonly steps: number }
  | { readonly points: readonly (readonly [step: number, weight: number])[] };

/** @param step counted from 0 */
export function weightAt(schedule: WeightSchedule, step: number): number {
  const points = pointsOf(schedule);
  const next = points.findIndex(([at]) => at > step);
  if (next === -1) return points.at(-1)![1];
  const [at, weight] = points[next]!;
  const [before, from] = points[next - 1] ?? [at - 1, weight];
  return from + ((weight - from) * (step - before)) / (at - before);
}

/** The final weight, used for evaluations so that they are comparable throughout a run. */
export function finalWeight(schedule: WeightSchedule): number {
  return pointsOf(schedule).at(-1)![1];
}

function pointsOf(schedule: WeightSchedule): readonly (readonly [step: number, weight: number])[] {
  if (typeof schedule === 'number') return [[0, schedule]];
  return 'points' in schedule
    ? schedule.points
    : [
        [0, schedule.from],
        [schedule.steps, schedule.to],
      ];
}

export interface RewardWeightsOptions {
  /** Divide each weight by the standard deviation of its reward's values so far, from the second step on. @default false */
  readonly adaptive?: boolean;
  /** The step, counted from 0, at which schedules begin. @default 0 */
  readonly from?: number;
}

/** Running mean and variance (Welford 1962). */
interface Moments {
  readonly count: number;
  readonly mean: number;
  /** Σ (value − mean)² */
  readonly squares: number;
}

/** Weights of rewards by name; a reward without one has weight 1. */
export class RewardWeights {
  readonly #schedules: Readonly<Record<string, WeightSchedule>>;
  readonly #adaptive: boolean;
  readonly #from: number;
  readonly #moments = new Map<string, Moments>();

  constructor(
    schedules: Readonly<Record<string, WeightSchedule>>,
    { adaptive = false, from = 0 }: RewardWeightsOptions = {},
  ) {
    this.#schedules = schedules;
    this.#adaptive = adaptive;
    this.#from = from;
  }

  /** @param step counted from 0 */
  at(step: number): Record<string, number> {
    const weights = Object.entries(this.#schedules).map(([name, schedule]) => [
      name,
      weightAt(schedule, step - this.#from) / (this.#adaptive ? this.#deviation(name) : 1),
    ]);
    return Object.fromEntries(weights);
  }

  /** Records the values of a step, which affect the weights of later steps. */
  observe(rewards: readonly Reward[]): void {
    for (const { parts } of rewards) {
      for (const [name, value] of Object.entries(parts)) {
        if (value === null) continue;
        const { count, mean, squares } = this.#moments.get(name) ?? { count: 0, mean: 0, squares: 0 };
        const next = mean + (value - mean) / (count + 1);
        const moments = { count: count + 1, mean: next, squares: squares + (value - mean) * (value - next) };
        this.#moments.set(name, moments);
      }
    }
  }

  /** The statistics gathered by `observe`, as JSON. */
  get state(): unknown {
    return Object.fromEntries(this.#moments);
  }

  set state(state: unknown) {
    this.#moments.clear();
    for (const [name, moments] of Object.entries(state as Record<string, Moments>)) this.#moments.set(name, moments);
  }

  /** The standard deviation; 1 as long as the values have not varied. */
  #deviation(name: string): number {
    const { count, squares } = this.#moments.get(name) ?? { count: 0, squares: 0 };
    const deviation = count < 2 ? 0 : Math.sqrt(squares / (count - 1));
    return deviation > 1e-8 ? deviation : 1;
  }
}

/** The reward with its score replaced by Σ weight · part, over the parts that apply. */
export function reweighed(reward: Reward, weights: Readonly<Record<string, number>>): Reward {
  if (reward.score === null) return reward;
  const terms = Object.entries(reward.parts).map(([name, part]) => (part ?? 0) * (weights[name] ?? 1));
  return { ...reward, score: terms.reduce((sum, term) => sum + term, 0) };
}
