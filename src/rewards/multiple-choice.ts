// Reward 1 if a completion chooses the right letter or digit, else 0.
import { z } from 'zod';
import type { RewardFunction } from '../rewards.ts';
import { compareWithGold, goldAnswerInvalid } from './gold-answers.ts';

export interface MultipleChoiceConfig {
  /** The column with the right letter: `B`, `(B)`, `B.` or `B) Paris`; also a number, if `letters` has digits. @default 'answer' */
  readonly answer_column?: string;
  /** The letters to choose from, as the prompt shows them; digits where it shows digits, such as `0123` or `ABCDE1234`. @default 'ABCDEFGHIJ' */
  readonly letters?: string;
}

export const multipleChoiceConfig: z.ZodType<MultipleChoiceConfig> = z.strictObject({
  answer_column: z.string().exactOptional(),
  letters: z
    .string()
    .regex(/^[A-Z\d]{2,36}$/, 'letters are two or more capitals or digits, for example ABCD')
    .exactOptional(),
});

/**
 * Looks for the choice where it is most explicit: in a box, in `<answer>`, after "answer is" or "answer:", in parentheses, or at the start of a line
 * and followed by a punctuation mark. Where several of a kind occur, the last one counts; "A or B" chooses nothing.
 */
export function multipleChoice(config: MultipleChoiceConfig = {}): RewardFunction {
  const { answer_column = 'answer', letters = 'ABCDEFGHIJ' } = config;
  const places = placesOf(letters);
  const goldLetter = new RegExp(String.raw`^\s*\(?([${letters}])(?:[).:\s]|$)(?!\d)`);
  return (input) =>
    compareWithGold(input, answer_column, (completion, gold) => {
      const right = goldLetter.exec(gold)?.[1];
      if (!right)
        throw goldAnswerInvalid(answer_column, `is none of ${letters}: ${JSON.stringify(gold)}`, digitHint(gold));
      return choiceIn(completion, places) === right ? 1 : 0;
    });
}

/** A number may count from 0 or from 1: only the prompt knows. */
function digitHint(gold: string): string | undefined {
  return /^\d$/.test(gold)
    ? "write letters into the column, or number the choices in the prompt as the data does and name the digits: letters: '0123'"
    : undefined;
}

function placesOf(letters: string): RegExp[] {
  const letter = String.raw`(?:\\text(?:bf|rm)?\{)?[*\s]*\(?([${letters}])(?![\w']|\.\d)`;
  // Two letters are not a choice.
  const alone = String.raw`(?!\)?[*\s]*(?:,|\/|&|or|and)\s*\(?[${letters}](?![\w']))`;
  return [
    String.raw`\\boxed\s*\{\s*${letter}${alone}`,
    String.raw`<answer>\s*${letter}${alone}`,
    String.raw`\b(?:[Aa]nswer|ANSWER|[Cc]hoice|[Oo]ption)[*]*(?:\s+is)?[*]*\s*:?\s*\$?${letter}${alone}`,
    String.raw`\(([${letters}])\)${alone}`,
    String.raw`^[*\s]*\(?([${letters}])(?:[).:*]|\s*$)(?!\d)${alone}`,
  ].map((source) => new RegExp(source, 'gm'));
}

function choiceIn(text: string, places: readonly RegExp[]): string | undefined {
  for (const place of places) {
    const found = [...text.matchAll(place)].at(-1)?.[1];
    if (found) return found;
  }
  return undefined;
}
