// The reward: 1 for the right number, a little for answering with a number at all.
import type { RewardInput } from 'gradus';

/** One score per completion. 1 counts as correct; `columns` has every column of the data, with one entry per completion. */
export function score({ completions, columns, log }: RewardInput): number[] {
  return completions.map((completion, i) => {
    const said = lastNumber(completion);
    log('answered', said === undefined ? 0 : 1);
    if (said === undefined) return 0;
    return said === Number(columns.answer![i]) ? 1 : 0.1;
  });
}

/** The last number counts, so listing many does not help. */
function lastNumber(text: string): number | undefined {
  const number = text.match(/-?\d+(\.\d+)?/g)?.at(-1);
  return number === undefined ? undefined : Number(number);
}
