// Checks as people read them, and the one that stops as an error.
import { blocking, type Check } from '../studio/checks.ts';
import type { DescribedError } from './output.ts';

const marks = { error: '✗', warning: '!', info: '·' };

/** A line for each: `✓ masks: …`, and below what is not ok what to do. */
export function checkLines(checks: readonly Check[]): string[] {
  return checks.flatMap(({ id, ok, level, detail, hint }) => [
    `${ok ? '✓' : marks[level]} ${id}: ${detail}`,
    ...(hint === undefined ? [] : [`    ${hint}`]),
  ]);
}

/** What the first check that stops comes to, if any does. */
export function checkError(code: string, checks: readonly Check[]): DescribedError | undefined {
  const check = blocking(checks);
  return check && { code, message: `${check.id}: ${check.detail}`, ...(check.hint && { hint: check.hint }) };
}
