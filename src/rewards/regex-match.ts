// Reward 1 if a regular expression matches a completion, else 0.
import { z } from 'zod';
import { LinearRegExp } from '../common/linear-regexp/linear-regexp.ts';
import type { RewardFunction } from '../scoring.ts';
import { regexSource } from './regex-source.ts';

export interface RegexMatchConfig {
  /** The regular expression, in JavaScript's syntax; `^` and `$` match at the start and end of the completion. */
  readonly pattern: string;
  /** Flags of the expression, of `imsuv`. @default 's', so that `.` matches line feeds too */
  readonly flags?: string;
}

export const regexMatchConfig: z.ZodType<RegexMatchConfig> = z.strictObject({
  pattern: regexSource,
  flags: z
    .string()
    .regex(/^(?!.*(.).*\1)(?!.*u.*v|.*v.*u)[imsuv]*$/, 'flags are some of i, m, s and one of u, v')
    .exactOptional(),
});

/** 1 if the pattern matches somewhere in the completion, else 0. */
export function regexMatch(config: RegexMatchConfig): RewardFunction {
  const pattern = new LinearRegExp(config.pattern, config.flags ?? 's');
  return ({ completions }) => completions.map((completion) => (pattern.test(completion) ? 1 : 0));
}
