// Checks the options of functions that programs call, since TypeScript does not check ranges.
import { z } from 'zod';
import { given } from '../common/given.ts';
import { conforming } from '../common/schema-check.ts';
import { MOST_COMPLETIONS, MOST_SAMPLES } from './limits.ts';

export const completionCount = z.int().min(1).max(MOST_COMPLETIONS);
export const sampleSize = z.int().min(1).max(MOST_SAMPLES);
export const temperature = z.number().nonnegative();
export const checkpointName = z.string();

/** Throws `OPTION_INVALID` for the first option that is invalid or unknown. Undefined options count as absent. */
export function assertValid(schema: z.ZodObject, options: object): void {
  conforming(schema.partial(), given(options), { code: 'OPTION_INVALID' });
}
