// Reduces the many notations of answers, LaTeX, plain and Unicode, to one that the lexer reads: decoration and units are dropped.
import { dropUnits, textOf } from './units.ts';

const unicode: readonly (readonly [RegExp, string])[] = [
  [/[−–—]/g, '-'],
  [/[×·⋅∙∗]/g, '*'],
  [/÷/g, '/'],
  [/≤|⩽/g, '<='],
  [/≥|⩾/g, '>='],
  [/≠/g, '!='],
  [/≈/g, '\\approx '],
  [/∞/g, ' infinity '],
  [/π/g, ' pi '],
  [/θ/g, '\\theta '],
  [/α/g, '\\alpha '],
  [/β/g, '\\beta '],
  [/∪/g, '\\cup '],
  [/∩/g, '\\cap '],
  [/∈/g, '\\in '],
  [/ℝ/g, '\\reals '],
  [/√\s*(\d+(?:\.\d+)?|[a-z])/g, 'sqrt($1)'],
  [/√/g, ' sqrt'],
  [/°|º/g, '^\\circ '],
  [/[⟨〈]/g, '('],
  [/[⟩〉]/g, ')'],
  [/[\u00a0\u2009\u202f]/g, ' '],
];
const beyondAscii = /[^\0-\x7f]/;
const vulgarFraction = /[¼-¾⅐-⅞]/g;
const superscript = /[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+/g;
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹⁻';

/** LaTeX commands that only affect appearance, or nothing at all. */
const decoration =
  /\\(?:left|right)\.|\\(?:left|right|middle|m?left|m?right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|tiny|small|normalsize|[lL]arge|LARGE|[hH]uge|limits|mathopen|mathclose|mathstrut|hfill|nonumber|notag|angle|triangle|therefore|because|rm|bf|it|sf|tt)(?![a-zA-Z])|\\(?:text)?color\s*\{[^{}]*\}|\\(?:h|v)space\*?\{[^{}]*\}|\*\*/g;
/** Accents and styles: their content is what counts. */
const styles =
  /\\(?:vec|mathbf|mathcal|mathbb|mathsf|boldsymbol|bm|pmb|hat|widehat|tilde|bar|overline|overrightarrow|underline|overset\{[^{}]*\}|underset\{[^{}]*\}|phantom|mathring|ensuremath)\s*(?=[{a-zA-Z\\])/g;
const textCommand =
  /\\(?:text(?:normal|bf|it|rm|sf|tt|up)?|math(?:rm|it|bf|sf|tt)|mbox|hbox|operatorname\*?)\s*\{([^{}]*)\}/g;

/** What a value is called in words: `\text{Area} = 12`, `\text{Answer: } 12`. */
const nameInWords = /^\s*"[^"=]*(?::"|"\s*[:=])\s*(?=[^"]*[\d\\])/;

/** A number with nothing to reduce. */
const plainNumber = /^-?\d+(?:\.\d+)?$/;

/** `5\text{ cm}^2`, `5 apples`, `\$5` and `5` become equal. */
export function normalise(given: string): string {
  if (plainNumber.test(given)) return given;
  let text = withoutDoubledBackslashes(repairEscapes(given.replaceAll('"', '')));
  // Most answers have none of these signs, and looking for each takes a third of the time.
  if (beyondAscii.test(text)) for (const [pattern, replacement] of unicode) text = text.replace(pattern, replacement);
  text = text
    .replace(vulgarFraction, (sign) => sign.normalize('NFKD').replace(/(\d+)⁄(\d+)/, '\\frac{$1}{$2}'))
    .replace(/\^\s*\{?(\d+)\}?\s*\/\s*_\s*\{?(\d+)\}?/g, '\\frac{$1}{$2}')
    .replace(/\\(?:nice|s|x)frac(?![a-zA-Z])/g, '\\frac')
    .replace(
      superscript,
      (digits) => `^{${[...digits].map((digit) => '0123456789-'[SUPERSCRIPTS.indexOf(digit)]).join('')}}`,
    )
    .replace(/\\(?:mathbb|mathbf|Bbb)\s*\{?\s*R\s*\}?|\\R(?![a-zA-Z])/g, '\\reals ')
    .replace(/\\reals\s*-\s*(?=\\\{)/g, '\\reals \\setminus ')
    .replace(/(\d*)\.(\d*)\\(?:overline|dot|bar)\s*\{(\d+)\}/g, repeatingDecimal)
    .replace(/\{\\rm\s+([^{}]*)\}/g, '\\text{$1}');
  text = joinDigits(text)
    .replace(/\{\s*([,:])\s*\}/g, '$1')
    // \frac12 is one half, but the lexer would read 12 as one number.
    .replace(
      /(\\[dtc]?frac)\s*(\d)\s*(\d)?/g,
      (_, name, top, bottom) => `${name}{${top}}${bottom ? `{${bottom}}` : ''}`,
    )
    .replace(/(\\[dtc]?frac\s*\{[^{}]*\})\s*(\d)/g, '$1{$2}')
    .replace(/\\sqrt\s*(\d)/g, '\\sqrt{$1}')
    .replace(/(\\[dt]?binom)\s*(\d)\s*(\d)/g, '$1{$2}{$3}')
    .replace(/\^\s*\{?\s*\\(?:text|mathrm)\s*\{\s*(?:st|nd|rd|th)\s*\}\s*\}?/g, '')
    .replace(/\\\$|\$|[€£¥]/g, '')
    .replace(decoration, '')
    .replace(/\\\{\s*(?=\\begin\s*\{(?:array|cases|aligned|matrix|gathered)\})/g, '')
    .replace(/&\s*(?=[=<>]|\\[lg]eq?(?![a-z]))/g, '')
    .replace(/(?<!\\)\\!/g, '')
    .replace(/(?<!\\)\\[,:;> ]|~/g, ' ')
    .replace(styles, '');
  text = text
    .replace(textCommand, (_, content: string, at: number, whole: string) => textOf(content, whole.slice(0, at)))
    .replace(/\bper\s?cent(?:age)?\b|\bpct\b/gi, '\\%')
    .replace(/(?<![a-zA-Z\\]),?\s*\b(?:and|or)\b|(?<=[\d)}\]])\s*(?:and|or)(?=[A-Z(\\[\d-])/g, ',')
    .replace(/\\q?quad\s*/g, '\\quad ')
    .replace(/((?:^|,|;)\s*)(?:\\quad )+|(?:\\quad )+(?=\s*(?:,|;|$))/g, '$1')
    .replace(/(?:\\quad )+/g, ', ')
    .replace(/,(?:\s*,)+/g, ',');
  return dropUnits(text)
    .replace(/^[\s.,;:]+(?!\d)|[\s.,;:]+$/g, '')
    .replace(nameInWords, '')
    .replace(/^\s*(?:\\approx|=)\s*/, '')
    .trim();
}

/** Where a program has read the \f of \frac or the \b of \begin as an escape, the control character tells. */
function repairEscapes(text: string): string {
  return text.replace(/\\?\f(?=rac)/g, '\\f').replace(/\\?[\b](?=egin|inom|oxed|ar)/g, '\\b');
}

/** JSON and Python sources double every backslash. `\\` alone ends the row of a matrix. */
function withoutDoubledBackslashes(text: string): string {
  if (!text.includes('\\\\')) return text;
  if (text.includes('\\\\begin')) return text.replaceAll('\\\\', '\\');
  if (text.includes('\\begin'))
    return text.replace(/(?<!\\)\\\\(?=(?:[dtc]?frac|sqrt|pi|text|boxed|cdot|times)\b)/g, '\\');
  return text.replace(/\\\\(?=[a-zA-Z{}[\](),;:!|%$])/g, '\\');
}

/** Spaces, thin spaces and braced commas group digits: `1\,234`, `1{,}234`, `1,\!234`. */
function joinDigits(text: string): string {
  return text.replace(
    /(?<![\d.])(\d{1,3})((?:(?:\s*\{\s*,\s*\}\s*|,\s*\\!\s*|\s*\\[,;:! ]\s*|~)\d{3})+)(?!\d)/g,
    (_, head: string, rest: string) => head + rest.replace(/[^\d]/g, ''),
  );
}

/** `0.1\overline{6}` is 1/6. */
function repeatingDecimal(_: string, whole: string, fixed: string, period: string): string {
  if (whole.length + fixed.length + period.length > 30) return '';
  const scale = 10n ** BigInt(fixed.length);
  const rest = 10n ** BigInt(period.length) - 1n;
  const numerator = BigInt(`${whole}${fixed}` || '0') * rest + BigInt(period);
  return `(${numerator}/${scale * rest})`;
}
