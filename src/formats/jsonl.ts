// JSON lines: one value per line. Lines are only appended, so that only the last one can be incomplete.
import { FormatError } from './format-error.ts';

export interface JsonLines {
  readonly values: unknown[];
  /** Whether the text ends in the middle of a line, as when its writer was killed; that line is not among the values. */
  readonly torn: boolean;
}

/** Parses JSON lines; empty lines are skipped. Throws `JSONL_LINE_INVALID` with the line's number for any bad line but a torn last one. */
export function parseJsonLines(text: string): JsonLines {
  const values: unknown[] = [];
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    try {
      values.push(JSON.parse(line));
    } catch (error) {
      if (index === lines.length - 1) return { values, torn: true };
      throw new FormatError('JSONL_LINE_INVALID', `line ${index + 1} is not JSON: ${(error as Error).message}`);
    }
  }
  return { values, torn: false };
}

/** One line for `value`, with its line feed. Halves of surrogate pairs become U+FFFD: most readers of JSON refuse them. */
export function stringifyLine(value: object): string {
  const text = JSON.stringify(value);
  return `${text.includes('\\ud') ? text.replaceAll(loneSurrogate, '$1\\ufffd') : text}\n`;
}

/** JSON.stringify escapes lone surrogates, and no other character in this way. */
const loneSurrogate = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/**
 * Like JSON.parse, except that whole numbers beyond 2⁵³, which it would round, become texts of their digits, as in parquet.ts: an answer must not
 * change.
 */
export function parseWithAllDigits(text: string): unknown {
  return mayHoldLongNumbers.test(text)
    ? JSON.parse(text, withAllDigits as (name: string, value: unknown) => unknown)
    : JSON.parse(text);
}

const mayHoldLongNumbers = /(?<![\d.])\d{16}/;

/** @param context is not in TypeScript's library yet */
function withAllDigits(_name: string, value: unknown, context: { readonly source?: string }): unknown {
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? '');
  return isRounded ? context.source : value;
}
