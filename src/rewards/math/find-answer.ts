// Finds the answer in a text: in a box, after `####` or "the answer is", in the last formula, or else the last number.

const boxCommand = /\\(?:boxed|fbox)\s*\{/g;

const announced: readonly RegExp[] = [
  /####\s*([^\n]+)/g,
  /<answer>([\s\S]*?)<\/answer>/g,
  /\bfinal answer\b[^\n:=]{0,40}?(?:\bis\b|[:=])[*\s]*:?\s*([^\n]+)/gi,
  /\banswer\b[^\n:=]{0,40}?(?:\bis\b|[:=])[*\s]*:?\s*([^\n]+)/gi,
];

// A dollar sign followed by a digit does not close a formula, but begins an amount of money: $5 and $6.
const formula = /\$\$([^$]+)\$\$|(?<![\\\d])\$((?:\\\$|[^$\n])+)\$(?!\d)|\\\[([\s\S]*?)\\\]|\\\(([\s\S]*?)\\\)/g;

const number = /(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+/.source;
const command = String.raw`\\(?:[dtc]?frac|sqrt)\s*(?:\[[^\]]*\])?(?:\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}){1,2}|\\pi\b|π|√\s*\d+|sqrt\(\d+\)`;
const operand = String.raw`\({0,9}(?:${number}|${command})(?:\s?\\?%|!|\^\{?-?\d+\}?|\)|[a-z](?![a-zA-Z]))*`;
const sign = String.raw`(?:(?<![\w)\]}])[-−+]\s?)?(?:\\?[$€£¥]\s?-?)?`;
const expression = new RegExp(
  `${sign}${operand}(?:\\s*(?:[-+*/^×÷·−]|\\\\cdot|\\\\times)\\s*[-−]?${operand}|${command})*`,
  'g',
);

// Answers are near the end: only this many characters there are searched.
const LONGEST_SEARCHED = 20_000;
const MOST_BOXES = 50;

/** Text that may be the answer. The contents of a box are the answer even if they are not mathematics. */
export interface AnswerCandidate {
  readonly text: string;
  readonly source: 'box' | 'formula' | 'prose';
}

/** Candidates for the answer of `text`, from the most to the least explicit. */
export function* answerCandidates(fullText: string): Generator<AnswerCandidate> {
  const text = fullText.slice(-LONGEST_SEARCHED);
  const boxed = lastBoxes(text);
  if (boxed !== undefined) yield { text: boxed, source: 'box' };
  for (const pattern of announced) {
    const found = [...text.matchAll(pattern)].at(-1)?.[1];
    if (found !== undefined) yield* candidatesIn(found);
  }
  yield* candidatesIn(text);
}

function* candidatesIn(text: string): Generator<AnswerCandidate> {
  const formulas = lastFormulas(text);
  if (formulas !== undefined) yield { text: formulas, source: 'formula' };
  const sentence = text.trim().split(/(?<=[^\s\d])\.\s|\.\s(?=[A-Z])/)[0]!;
  yield { text: sentence.replaceAll('**', ''), source: 'prose' };
  const last = [...text.matchAll(expression)].at(-1)?.[0];
  if (last !== undefined) yield { text: last, source: 'prose' };
}

/** The content of the last box and of those joined to it: `\boxed{1}, \boxed{2}` is `1,2`. */
function lastBoxes(text: string): string | undefined {
  const boxes: { readonly start: number; readonly end: number; readonly content: string }[] = [];
  for (const match of [...text.matchAll(boxCommand)].slice(-MOST_BOXES)) {
    const start = match.index + match[0].length;
    const end = closingBrace(text, start);
    if (end !== undefined) boxes.push({ start: match.index, end, content: text.slice(start, end) });
  }
  let answer: string | undefined;
  let next: number | undefined;
  for (const { start, end, content } of boxes.reverse()) {
    if (next !== undefined && !/^[\s$.]*(?:,|;|,?\s*(?:and|or)\b)[\s$]*$/.test(text.slice(end + 1, next))) break;
    answer = answer === undefined ? content : `${content},${answer}`;
    next = start;
  }
  return answer;
}

function closingBrace(text: string, start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at;
  }
  return undefined;
}

/** The last formula, and those that "and", "or" or a comma joins to it. */
function lastFormulas(text: string): string | undefined {
  let answer: string | undefined;
  let next: number | undefined;
  for (const match of [...text.matchAll(formula)].reverse()) {
    if (
      next !== undefined &&
      !/^\s*(?:,|,?\s*(?:and|or)\b)\s*$/.test(text.slice(match.index + match[0].length, next))
    ) {
      break;
    }
    const content = match.slice(1).find((group) => group !== undefined)!;
    const percent = next === undefined && /^\s*(?:\\?%|per\s?cent)/.test(text.slice(match.index + match[0].length));
    answer = answer === undefined ? `${content}${percent ? '\\%' : ''}` : `${content},${answer}`;
    next = match.index;
  }
  return answer;
}
