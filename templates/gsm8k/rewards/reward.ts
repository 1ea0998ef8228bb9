// A reward for the format: the answer stands behind `####`, once, at the end. It weighs 1, so it pays 0.2 at most.
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
