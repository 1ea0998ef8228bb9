// The reward: 1 for the right number and nothing else, half of it where the number stands among words.
import type { RewardInput } from 'gradus';

/** One score a completion. The values of a CSV file are texts, so `columns.answer` is, too. */
export function score({ completions, columns }: RewardInput): number[] {
  return completions.map((completion, i) => {
    const answer = String(columns.answer![i]);
    const text = completion.trim().replace(/(?<=\d),(?=\d{3})/g, '');
    if (text === answer) return 1;
    return text.match(/\d+/g)?.at(-1) === answer ? 0.5 : 0;
  });
}
