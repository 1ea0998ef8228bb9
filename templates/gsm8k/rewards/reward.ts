// A reward for the format: the answer follows `####`, once, at the end. Its weight is 1, so it pays at most 0.2.
import type { RewardInput } from 'gradus';

const pay = 0.2;

export function score({ completions, log }: RewardInput): number[] {
  return completions.map((completion) => {
    const marks = completion.split('####').length - 1;
    const atTheEnd = /\n#### -?[\d.,]+\s*$/.test(completion);
    log('marked', marks > 0 ? 1 : 0);
    return marks === 1 && atTheEnd ? pay : 0;
  });
}
