// The demo's reward: 1 for the sum, 0 for anything else.
import type { RewardFunction } from '../src/scoring.ts';

export const exactSum: RewardFunction = ({ completions, columns }) =>
  completions.map((completion, i) => (completion === columns.answer![i] ? 1 : 0));
