// Finds numbers in text as people and models write them: −3, $1,234.50, .5, 2e3.

// A minus after a letter, a digit or a bracket is a hyphen or a subtraction.
const sign = /(?:(?<![\w)\]}])[-\u2212])?/.source;
const currency = /(?:\\?[$€£¥]\s?[-\u2212]?)?/.source;
// A point after a letter or another point ends a sentence; it does not begin a number.
const digits = /(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+/.source;
const exponent = /(?:[eE][-+]?\d+)?/.source;
const numbers = new RegExp(`(${sign}${currency})((?:${digits})${exponent})`, 'g');

/** The value of the last number in `text`, as the nearest double; `undefined` if there is none or it is too large for a double. */
export function lastNumber(text: string): number | undefined {
  const match = [...text.matchAll(numbers)].at(-1);
  if (!match) return undefined;
  const [, prefix, magnitude] = match;
  const value = Number(magnitude!.replaceAll(',', ''));
  if (!Number.isFinite(value)) return undefined;
  return /[-\u2212]/.test(prefix!) ? -value : value;
}
