// A reward for sums that the model must change its habit for: only their last two digits are right.
import type { RewardFunction } from '../../src/index.ts';

export const lastDigits: RewardFunction = ({ completions, columns }) =>
  completions.map((text, i) => Number(text === String(columns.answer![i]).slice(-2)));
