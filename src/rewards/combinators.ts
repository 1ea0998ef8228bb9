// Reward functions made of others. A score of `null`, which means that a reward does not apply, stays apart from the score 0.
import type { RewardFunction } from '../rewards.ts';

export interface WeightedPart {
  readonly score: RewardFunction;
  readonly weight: number;
}

/** Σ weight · score over the parts that apply; `null` where none does. */
export function weighted(parts: readonly WeightedPart[]): RewardFunction {
  return combined(
    parts.map(({ score }) => score),
    (scores) => {
      const terms = scores.flatMap((score, i) => (score === null ? [] : [score * parts[i]!.weight]));
      return terms.length === 0 ? null : terms.reduce((sum, term) => sum + term, 0);
    },
  );
}

/** The product of all scores, so that one 0 spoils the whole; `null` where any does not apply. */
export function product(rewards: readonly RewardFunction[]): RewardFunction {
  return combined(rewards, (scores) =>
    scores.reduce((result, score) => (result === null || score === null ? null : result * score), 1),
  );
}

/** The score, but at least `min` and at most `max`. */
export function clip(
  reward: RewardFunction,
  { min, max }: { readonly min: number; readonly max: number },
): RewardFunction {
  return combined([reward], ([score]) => (score === null ? null : Math.min(max, Math.max(min, score!))));
}

/** The score of `reward` where that of `condition` is at least `threshold`, elsewhere 0; `null` where either does not apply. */
export function gate(condition: RewardFunction, reward: RewardFunction, threshold = 1): RewardFunction {
  return combined([condition, reward], ([gateScore, score]) => {
    if (gateScore === null || score === null) return null;
    return gateScore! >= threshold ? score! : 0;
  });
}

/**
 * The score times a weight that is asked for at every call, for example `() => Math.max(0, 1 - step / 100)`. Reward functions are not told
 * the step, so the caller of `GrpoTrainer` keeps count of it.
 */
export function schedule(reward: RewardFunction, weight: () => number): RewardFunction {
  return async (input) => {
    const factor = weight();
    return (await reward(input)).map((score) => (score === null ? null : score * factor));
  };
}

/** Calls all with the same input and combines the scores of each completion. Throws where one gives too few or too many. */
function combined(
  rewards: readonly RewardFunction[],
  combine: (scores: readonly (number | null)[]) => number | null,
): RewardFunction {
  return async (input) => {
    const all = await Promise.all(rewards.map(async (reward) => reward(input)));
    for (const { length } of all) {
      if (length === input.completions.length) continue;
      throw new TypeError(`a reward returned ${length} scores for ${input.completions.length} completions`);
    }
    return input.completions.map((_, i) => combine(all.map((scores) => scores[i]!)));
  };
}
