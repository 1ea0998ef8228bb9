// JSON lines: one value a line, appended and never rewritten, so that only the last line can be torn.
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

/** One line for `value`, with its line feed. */
export function stringifyLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/**
 * What JSON.parse gives, but whole numbers beyond 2⁵³, which it would round, as texts of their digits, as those of Parquet files are: an answer must
 * not become another one.
 */
export function parseWithAllDigits(text: string): unknown {
  return mayHoldLongNumbers.test(text)
    ? JSON.parse(text, withAllDigits as (name: string, value: unknown) => unknown)
    : JSON.parse(text);
}

const mayHoldLongNumbers = /(?<![\d.])\d{16}/;

/** @param context which TypeScript's library does not know yet */
function withAllDigits(_name: string, value: unknown, context: { readonly source?: string }): unknown {
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? '');
  return isRounded ? context.source : value;
}
