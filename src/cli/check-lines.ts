// Formats checks for people, and turns the first failed one into an error.
import { blocking, type Check } from '../checks/checks.ts';
import type { DescribedError } from './output.ts';

const marks = { error: '✗', warning: '!', info: '·' };

/** One line per check, `✓ masks: …`, and below a check that is not ok what to do about it. */
export function checkLines(checks: readonly Check[]): string[] {
  return checks.flatMap(({ id, ok, level, detail, hint }) => [
    `${ok ? '✓' : marks[level]} ${id}: ${detail}`,
    ...(hint === undefined ? [] : [`    ${hint}`]),
  ]);
}

/** The error of the first check that stops training, if there is one. */
export function checkError(code: string, checks: readonly Check[]): DescribedError | undefined {
  const check = blocking(checks);
  return check && { code, message: `${check.id}: ${check.detail}`, ...(check.hint && { hint: check.hint }) };
}
