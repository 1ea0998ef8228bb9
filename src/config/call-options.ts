// Checks the options of functions that programs call, since TypeScript does not check ranges.
import { z } from 'zod';
import { given } from '../common/given.ts';
import { existingNames } from '../common/nearest.ts';
import { GradusError } from '../errors.ts';
import { MOST_COMPLETIONS, MOST_SAMPLES } from './limits.ts';

export const completionCount = z.int().min(1).max(MOST_COMPLETIONS);
export const sampleSize = z.int().min(1).max(MOST_SAMPLES);
export const temperature = z.number().nonnegative();
export const checkpointName = z.string();

/** Throws `OPTION_INVALID` for the first option that is invalid or unknown. Undefined options count as absent. */
export function assertValid(schema: z.ZodObject, options: object): void {
  const result = schema.partial().strict().safeParse(given(options));
  if (result.success) return;
  const issue = result.error.issues[0]!;
  const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : [];
  const path = unknown ?? issue.path.join('.');
  throw new GradusError(
    'OPTION_INVALID',
    `${path}: ${unknown === undefined ? issue.message : 'there is no such option'}`,
    {
      ...(unknown !== undefined && { hint: existingNames(path, Object.keys(schema.shape)) }),
      path,
    },
  );
}
