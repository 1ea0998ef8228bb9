// A reward of sums that asks for another habit than the model has: their last two digits alone.
import type { RewardFunction } from '../../src/index.ts';

export const lastDigits: RewardFunction = ({ completions, columns }) =>
  completions.map((text, i) => Number(text === String(columns.answer![i]).slice(-2)));
