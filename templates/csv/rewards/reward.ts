// The reward: 1 for exactly the right number, half of that if there are words around it.
import type { RewardInput } from 'gradus';

/** One score per completion. Values of CSV files are texts, and so is `columns.answer`. */
export function score({ completions, columns }: RewardInput): number[] {
  return completions.map((completion, i) => {
    const answer = String(columns.answer![i]);
    const text = completion.trim().replace(/(?<=\d),(?=\d{3})/g, '');
    if (text === answer) return 1;
    return text.match(/\d+/g)?.at(-1) === answer ? 0.5 : 0;
  });
}
