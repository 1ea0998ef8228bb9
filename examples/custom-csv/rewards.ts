// The reward: 1 for the right number of minutes, less the further off it is, 0 without a number.
import type { RewardFunction } from '../../src/index.ts';

/** Values of CSV files are texts. The mean error is logged beside the reward, as `minutes_off`. */
export const minutes: RewardFunction = ({ completions, columns, log }) =>
  completions.map((completion, i) => {
    const said = completion.match(/\d+/g)?.at(-1);
    if (said === undefined) return 0;
    const off = Math.abs(Number(said) - Number(columns.answer![i]));
    log('minutes_off', Math.min(off, 1000));
    return off === 0 ? 1 : 0.5 * Math.exp(-off / 10);
  });
