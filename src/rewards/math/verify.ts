// Decides whether the answer in a text is the gold answer: what the package exports as `gradus/math-verify`.
import { type EquivalenceMode, isEquivalent } from './equivalence.ts';
import { answerCandidates } from './find-answer.ts';
import { parseAnswer, readDecimalComma } from './parser.ts';
import type { MathNode } from './syntax.ts';
import { hasProse } from './tokens.ts';

const choice = /^[\s$]*\\(?:text(?:bf)?|math(?:rm|bf))\s*\{\s*\(?([A-J])[).:]\s*\}(?:\\[ ,;:]|\\q?quad|[\s~:.])*(.+)$/;

export type { EquivalenceMode } from './equivalence.ts';
export type { MathNode } from './syntax.ts';

/**
 * Whether the answer in `completion` means the same as `gold`: `verify('\\frac{1}{2}', 'So it is $\\boxed{0.5}$.')`. The gold answer is an answer,
 * with or without signs around it, or a text that ends in one. Not symmetric: see `docs/math-verify.md`.
 */
export function verify(gold: string, completion: string, mode: EquivalenceMode = 'strict'): boolean {
  return areEquivalent(readGold(gold), readAnswer(completion), mode);
}

/** Whether any reading of an answer means the same as any of the gold answer. */
export function areEquivalent(
  golds: readonly MathNode[],
  answers: readonly MathNode[],
  mode: EquivalenceMode = 'strict',
): boolean {
  return golds.some((gold) => answers.some((answer) => isEquivalent(gold, answer, mode)));
}

/** What the answer of a completion may mean; empty if nothing in it can be read as one. */
export function readAnswer(completion: string): readonly MathNode[] {
  for (const { text, source } of answerCandidates(completion)) {
    const answer = parseAnswer(text);
    if (source === 'box' && !answer) return withOtherReadings({ kind: 'word', text }, text);
    if (answer && (source !== 'prose' || !isSentence(answer, text))) return withOtherReadings(answer, text);
  }
  return [];
}

/**
 * What a gold answer may mean; empty if it is blank. One that is not mathematics is text. So is LaTeX that cannot be parsed: a number picked
 * out of it would be wrong.
 */
export function readGold(gold: string): readonly MathNode[] {
  const text = gold.trim();
  if (text === '') return [];
  const isMarked = /\\(?:boxed|fbox)|####|<answer>/.test(text);
  const whole = isMarked || hasProse(text) ? undefined : parseAnswer(text);
  if (whole) return withOtherReadings(whole, text);
  const isBare = text.includes('\\') && !isMarked && !/[$#<]|\\[([]|answer/i.test(text);
  const found = isBare ? [] : readAnswer(text);
  return found.length > 0 ? found : [{ kind: 'word', text }];
}

/** Besides what it says as it stands, 2,74 may be 2.74, and `\textbf{(B) } 12` either B or 12. */
function withOtherReadings(answer: MathNode, text: string): readonly MathNode[] {
  const [, letter, content] = choice.exec(text) ?? [];
  const others = letter
    ? [{ kind: 'symbol', name: letter } satisfies MathNode, parseAnswer(content!)]
    : [readDecimalComma(text)];
  return [answer, ...others.filter((other) => other !== undefined)];
}

/** Text of one or two words may be an answer. */
function isSentence(answer: MathNode, text: string): boolean {
  return answer.kind === 'word' ? text.trim().split(/\s+/).length > 2 : hasProse(text);
}
