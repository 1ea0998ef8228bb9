// Turns the text of an answer into tokens: LaTeX, plain notation and Unicode signs share one vocabulary; units and decoration are dropped.

export type Token =
  | { readonly kind: 'number'; readonly text: string }
  /** A variable, a constant or a function; Greek letters have their LaTeX names. */
  | { readonly kind: 'name'; readonly text: string }
  /** A run of letters too long to be a product. */
  | { readonly kind: 'word'; readonly text: string }
  /** Something marked as text. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'mark'; readonly text: string };

/** Names of more than one letter that are not words. */
export const functionNames: ReadonlySet<string> = new Set([
  'sqrt',
  'exp',
  'ln',
  'log',
  'lg',
  'abs',
  'floor',
  'ceil',
  'gcd',
  'lcm',
  'min',
  'max',
  'sin',
  'cos',
  'tan',
  'cot',
  'sec',
  'csc',
  'sinh',
  'cosh',
  'tanh',
  'arcsin',
  'arccos',
  'arctan',
  'asin',
  'acos',
  'atan',
]);

const constantNames: ReadonlySet<string> = new Set(['pi', 'infinity', 'inf']);

const unicode: readonly (readonly [RegExp, string])[] = [
  [/[−–—]/g, '-'],
  [/[×·⋅∙]/g, '*'],
  [/÷/g, '/'],
  [/≤/g, '<='],
  [/≥/g, '>='],
  [/≠/g, '!='],
  [/∞/g, ' infinity '],
  [/π/g, ' pi '],
  [/θ/g, '\\theta '],
  [/ℝ|\\mathbb\s*\{?R\}?/g, '(-\\infty,\\infty)'],
  [/√\s*(\d+(?:\.\d+)?|[a-z])/g, 'sqrt($1)'],
  [/√/g, ' sqrt'],
  [/½/g, '(1/2)'],
  [/¼/g, '(1/4)'],
  [/¾/g, '(3/4)'],
  [/²/g, '^2'],
  [/³/g, '^3'],
  [/°|º/g, '^\\circ '],
  [/[⟨〈]/g, '('],
  [/[⟩〉]/g, ')'],
];

/** LaTeX commands that only affect appearance, or nothing at all. */
const decoration =
  /\\(?:left|right|m?left|m?right|[bB]igg?[lr]?|displaystyle|textstyle|quad|qquad|limits|mathopen|mathclose)(?![a-zA-Z])|(?<!\\)\\[,!:;> ]|~|\*\*/g;

const textCommand = /\\(?:text(?:normal|bf|it|rm|sf)?|math(?:rm|it|bf|sf)|mbox|hbox|operatorname)\s*\{([^{}]*)\}/g;

const markOfCommand: Readonly<Record<string, string>> = {
  cdot: '*',
  times: '*',
  ast: '*',
  div: '/',
  pm: '±',
  mp: '±',
  le: '<=',
  leq: '<=',
  leqslant: '<=',
  ge: '>=',
  geq: '>=',
  geqslant: '>=',
  lt: '<',
  gt: '>',
  ne: '!=',
  neq: '!=',
  approx: '=',
  equiv: '=',
  in: '∈',
  cup: '∪',
  emptyset: '∅',
  varnothing: '∅',
  lbrace: '\\{',
  rbrace: '\\}',
  lvert: '|',
  rvert: '|',
  vert: '|',
  mid: '|',
  langle: '(',
  rangle: ')',
  lbrack: '[',
  rbrack: ']',
  lfloor: '⌊',
  rfloor: '⌋',
  lceil: '⌈',
  rceil: '⌉',
  circ: '°',
  degree: '°',
  dfrac: '\\frac',
  tfrac: '\\frac',
  cfrac: '\\frac',
  frac: '\\frac',
  dbinom: '\\binom',
  tbinom: '\\binom',
  binom: '\\binom',
  begin: '\\begin',
  end: '\\end',
};

const nameOfCommand: Readonly<Record<string, string>> = { infty: 'infinity', inf: 'infinity', mathrme: 'e' };

const UNITS =
  'mm|cm|dm|km|ft|in|mg|kg|ml|mL|mph|kmh|kph|min|sec|hr|hrs|lb|lbs|oz|yd|mi|ms|kB|MB|GB|Hz|kHz|kW|rad|m|g|s|h|l|L';
// A unit is a longer word after a space, or one in the list: the ab in 2ab is a product.
const unit = String.raw`(?:\s+[a-zA-Z]{3,}|\s*(?:${UNITS})(?![a-zA-Z]))(?:\s*\^\s*\{?[23]\}?)?`;
const per = String.raw`\s*(?:\/|\bper\b)\s*[a-zA-Z]+(?:\s*\^\s*\{?[23]\}?)?`;
const trailingUnits = new RegExp(String.raw`(?<=[\d)}%])(?:${unit}(?:${per})?)+[\s.]*$`);
const singleLetterUnit = /(?<=\d)[mgshlL]$/;

/** Reduces the many notations of answers to one; `5\text{ cm}^2`, `5 apples`, `\$5` and `5` become equal. */
export function normalise(text: string): string {
  let result = text.replaceAll('"', '');
  for (const [pattern, replacement] of unicode) result = result.replace(pattern, replacement);
  return (
    result
      .replace(/(?<!\\)\\\\(?=[dtc]?frac|sqrt|pi|text)/g, '\\')
      .replace(/\{\s*,\s*\}|,\\!/g, ',')
      // \frac12 is one half, but the lexer would read 12 as one number.
      .replace(
        /(\\[dtc]?frac)\s*(\d)\s*(\d)?/g,
        (_, name, top, bottom) => `${name}{${top}}${bottom ? `{${bottom}}` : ''}`,
      )
      .replace(/\\\$|\$|[€£¥]/g, '')
      .replace(decoration, (found) => (found === '\\ ' || found === '~' ? ' ' : ''))
      .replace(textCommand, (_, content: string, at: number, whole: string) => textOf(content, whole.slice(0, at)))
      .replace(/\bper\s?cent(?:age)?\b|\bpct\b/gi, '\\%')
      .replace(/(?<![a-zA-Z\\]),?\s*\b(?:and|or)\b/g, ',')
      .replace(trailingUnits, (found) => (containsFunction(found) ? found : ''))
      .replace(/[\s.,;:]+$/, '')
      .trim()
  );
}

/** What `\text{content}` means after `before`: a separator, a unit to drop, or text. */
function textOf(content: string, before: string): string {
  const trimmed = content.trim();
  if (/^,?\s*(?:and|or)$/.test(trimmed)) return ',';
  if (/^(?:%|percent|pi|[eiA-Z])$/.test(trimmed) || functionNames.has(trimmed)) return ` ${trimmed} `;
  if (/[\d)}%a-zA-Z]\s*$/.test(before)) return ` ${UNIT_MARK} `;
  return /[a-zA-Z]{2}/.test(trimmed) ? `"${trimmed}"` : ` ${trimmed} `;
}

/** A placeholder for a unit that is still to be removed together with its exponent. */
const UNIT_MARK = '\u0001';
const markedUnits = new RegExp(String.raw`${UNIT_MARK}(?:\s*\^\s*(?:\{\s*[-\d]+\s*\}|[23]))?`, 'g');

/** Whether the text contains words of a sentence, as opposed to functions, units, or variables after a number. */
export function hasProse(text: string): boolean {
  const unmarked = normalise(text).replace(/"[^"]*"|\\(?:begin|end)\{\w+\}/g, ' ');
  return [...unmarked.matchAll(/(?<![\\a-zA-Z]|[\d)}]\s?)[a-zA-Z]{2,}/g)].some(
    ([word]) => !functionNames.has(word) && !constantNames.has(word),
  );
}

function containsFunction(text: string): boolean {
  return [...text.matchAll(/[a-zA-Z]+/g)].some(([word]) => functionNames.has(word) || constantNames.has(word));
}

const patterns: readonly (readonly [RegExp, (match: RegExpExecArray) => Token | undefined])[] = [
  [/\s+/y, () => undefined],
  [/"([^"]*)"/y, ([, text]) => ({ kind: 'text', text: text!.toLowerCase() })],
  [/\\([a-zA-Z]+)/y, ([, name]) => command(name!)],
  [/\\[{}|%]/y, ([text]) => ({ kind: 'mark', text: text === '\\|' ? '|' : text === '\\%' ? '%' : text })],
  [/\\\\/y, () => ({ kind: 'mark', text: '\\\\' })],
  [/<=|>=|!=|==|\*\*/y, ([text]) => ({ kind: 'mark', text: text === '==' ? '=' : text === '**' ? '^' : text })],
  [/[a-zA-Z]+/y, ([text]) => ({ kind: 'word', text })],
  // The ratio 3:4 is read as a quotient.
  [/[^\s]/uy, ([text]) => ({ kind: 'mark', text: text === ':' ? '/' : text })],
];

const groupedNumber = /\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?/y;
const spacedNumber = /\d{1,3}(?: \d{3})+(?!\d)(?:\.\d+)?/y;
const plainNumber = /(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3}(?![\d.]))?/y;

/** The tokens of a normalised answer. Runs of up to three letters are products of variables, longer ones are words. */
export function tokenize(normalised: string): Token[] {
  const text = normalised.replace(markedUnits, ' ').replace(singleLetterUnit, '');
  const tokens: Token[] = [];
  let brackets = 0;
  let at = 0;
  while (at < text.length) {
    const number = matchAt(plainNumber, text, at);
    if (number) {
      // Inside brackets a comma is a separator: (100,200) is a pair.
      const whole = (brackets === 0 && matchAt(groupedNumber, text, at)) || matchAt(spacedNumber, text, at) || number;
      tokens.push({ kind: 'number', text: whole[0].replace(/[, ]/g, '') });
      at += whole[0].length;
      continue;
    }
    const found = firstMatch(text, at);
    at += found.match[0].length;
    if (!found.token) continue;
    if (/^(?:[([]|\\\{)$/.test(found.token.text)) brackets++;
    if (/^(?:[)\]]|\\\})$/.test(found.token.text)) brackets--;
    if (found.token.kind === 'word') tokens.push(...lettersOf(found.token.text));
    else tokens.push(found.token);
  }
  return tokens;
}

function firstMatch(text: string, at: number): { match: RegExpExecArray; token: Token | undefined } {
  for (const [pattern, token] of patterns) {
    const match = matchAt(pattern, text, at);
    if (match) return { match, token: token(match) };
  }
  throw new RangeError('every character matches the last pattern');
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function command(name: string): Token {
  const mark = markOfCommand[name];
  return mark ? { kind: 'mark', text: mark } : { kind: 'name', text: nameOfCommand[name] ?? name };
}

function lettersOf(text: string): Token[] {
  const lower = text.toLowerCase();
  if (functionNames.has(lower)) return [{ kind: 'name', text: lower }];
  if (constantNames.has(lower)) return [{ kind: 'name', text: lower === 'inf' ? 'infinity' : lower }];
  if (text.length > 3) return [{ kind: 'word', text: lower }];
  return [...text].map((letter) => ({ kind: 'name', text: letter }));
}
