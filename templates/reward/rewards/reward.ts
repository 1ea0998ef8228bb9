// The reward: 1 for the right number, a little for having answered with a number at all.
import type { RewardInput } from 'gradus';

/** One score a completion. 1 counts as correct; `columns` has every column of the data, an entry a completion. */
export function score({ completions, columns, log }: RewardInput): number[] {
  return completions.map((completion, i) => {
    const said = lastNumber(completion);
    log('answered', said === undefined ? 0 : 1);
    if (said === undefined) return 0;
    return said === Number(columns.answer![i]) ? 1 : 0.1;
  });
}

/** The last number counts: whoever lists many is judged by one. */
function lastNumber(text: string): number | undefined {
  const number = text.match(/-?\d+(\.\d+)?/g)?.at(-1);
  return number === undefined ? undefined : Number(number);
}
