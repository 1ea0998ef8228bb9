// Reward 1 if a completion's mathematical answer equals the gold answer, in any notation, else 0.
import { z } from 'zod';
import type { RewardFunction, RewardInput } from '../rewards.ts';
import { compareWithGold, goldAnswerInvalid, logModes } from './gold-answers.ts';
import { type EquivalenceMode, isEquivalent } from './math/equivalence.ts';
import { answerCandidates } from './math/find-answer.ts';
import { parseAnswer } from './math/parser.ts';
import type { MathNode } from './math/syntax.ts';
import { hasProse } from './math/tokens.ts';

export interface MathVerifyConfig {
  /** The column with the right answer: `72`, `\frac{1}{2}`, or a text that ends in `#### 72`, a box or a formula. @default 'answer' */
  readonly answer_column?: string;
  /**
   * - `strict`: names of variables matter, ordered and unordered answers differ, as do `12.5\%` and 12.5, and an interval and an inequality;
   * - `lenient`: variables are matched in order of appearance, sets equal tuples, inequalities equal intervals.
   *
   * @default 'strict'
   */
  readonly mode?: EquivalenceMode;
}

export const mathVerifyConfig: z.ZodType<MathVerifyConfig> = z.strictObject({
  answer_column: z.string().exactOptional(),
  mode: z.enum(['strict', 'lenient']).exactOptional(),
});

/**
 * Compares by meaning: fractions, roots, percent, sets, tuples, intervals, matrices, equations, inequalities and expressions in LaTeX or
 * plain notation; units are dropped. The answer of a completion is what is boxed or announced, else its last formula or number.
 *
 * The scores of both modes are logged side by side: `math_verify/strict` and `math_verify/lenient`.
 *
 * Decisions follow the Python package math-verify 0.9; `docs/math-verify.md` has the measured agreement and every difference.
 */
export function mathVerify(config: MathVerifyConfig = {}): RewardFunction {
  const { answer_column = 'answer', mode = 'strict' } = config;
  const scoreBy = (input: RewardInput, by: EquivalenceMode) =>
    compareWithGold(input, answer_column, (completion, goldText) => {
      const gold = goldAnswerOf(goldText);
      if (gold === undefined) throw goldAnswerInvalid(answer_column, `is no answer: ${JSON.stringify(goldText)}`);
      const answer = answerOf(completion);
      return answer !== undefined && isEquivalent(gold, answer, by) ? 1 : 0;
    });
  return (input) => {
    const scores = { strict: scoreBy(input, 'strict'), lenient: scoreBy(input, 'lenient') };
    logModes(input, 'math_verify', scores);
    return scores[mode];
  };
}

/** The answer of a completion; `undefined` if nothing in it can be read as one. */
function answerOf(completion: string): MathNode | undefined {
  for (const { text, source } of answerCandidates(completion)) {
    const answer = parseAnswer(text);
    if (source === 'box') return answer ?? { kind: 'word', text };
    if (answer && (source === 'formula' || !isSentence(answer, text))) return answer;
  }
  return undefined;
}

/** A gold answer that is not mathematics is text. So is LaTeX that cannot be parsed: a number picked out of it would be wrong. */
function goldAnswerOf(goldText: string): MathNode | undefined {
  const text = goldText.trim();
  if (text === '') return undefined;
  const whole = hasProse(text) ? undefined : parseAnswer(text);
  const isBare = text.includes('\\') && !/\\(?:boxed|fbox)|[$#<]|\\[([]|answer/i.test(text);
  return whole ?? (isBare ? undefined : answerOf(text)) ?? { kind: 'word', text };
}

/** Text of one or two words may be an answer. */
function isSentence(answer: MathNode, text: string): boolean {
  return answer.kind === 'word' ? text.trim().split(/\s+/).length > 2 : hasProse(text);
}
