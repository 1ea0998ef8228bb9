// Reads math-answers.txt and puts its answers into the wordings that models use: cases for math_verify and for the Python package.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface MathAnswer {
  readonly kind: string;
  readonly gold: string;
  /** The gold answer as data sets for math-verify hold it: a formula. */
  readonly goldFormula: string;
  readonly completion: string;
  /** Whether a person who knows the gold answer would accept the completion. */
  readonly isRight: boolean;
  /** Why the Python package math-verify decides otherwise. */
  readonly difference?: string;
}

const wordings: readonly ((answer: string) => string)[] = [
  (answer) => `\\boxed{${answer}}`,
  (answer) => `$\\boxed{${answer}}$`,
  (answer) => `Therefore, the answer is $\\boxed{${answer}}$.`,
  (answer) => `$${answer}$`,
  (answer) => `\\[\\boxed{${answer}}\\]`,
  (answer) => `First $7$ and then \\(8\\).\n\n\\[\n\\boxed{${answer}}\n\\]`,
  (answer) => `Thus the result is \\(${answer}\\)`,
  (answer) => `Let $n$ be the number of steps; after $12$ of them we are done.\n\n**Final Answer**\n\\boxed{${answer}}`,
  (answer) => `Final Answer: The final answer is $${answer}$. I hope it is correct.`,
  (answer) => `The answer is $${answer}$.`,
  (answer) => `So we have\n$$${answer}$$`,
  (answer) =>
    `<think>\nMaybe it is \\boxed{41}? Let us see whether this can be, once the other cases are counted.\n</think>\nIt is $\\boxed{${answer}}$.`,
  (answer) => `**Answer:** $${answer}$`,
  (answer) => `1. Set $x_0 = 3$.\n2. Iterate $17$ times.\n\nHence the answer is: \\(\\boxed{${answer}}\\).`,
  (answer) => `After simplifying we get \\[${answer}\\]`,
  (answer) => `\\( \\boxed{${answer}} \\)`,
];

/** Every answer of the file; each is put into a wording of its own, in turn. */
export function mathAnswers(): MathAnswer[] {
  const answers: MathAnswer[] = [];
  let [kind, gold] = ['', ''];
  for (const line of readFileSync(join(import.meta.dirname, 'math-answers.txt'), 'utf8')
    .split('\n')
    .slice(3)) {
    if (line.startsWith('# ')) kind = line.slice(2);
    else if (/^[+-]>? /.test(line)) {
      const text = line.replace(/^[+-]>? /, '').replaceAll('⏎', '\n');
      const wording = wordings[(7 * answers.length) % wordings.length]!;
      const completion = line[1] === '>' ? text : wording(text);
      answers.push({ kind, gold, goldFormula: `$${gold}$`, completion, isRight: line.startsWith('+') });
    } else if (line.startsWith('! ')) answers.push({ ...answers.pop()!, difference: line.slice(2) });
    else if (line !== '') gold = line;
  }
  return answers;
}
