// The schemas of options that several functions for programs have.
import { z } from 'zod';
import { MOST_COMPLETIONS, MOST_SAMPLES } from './limits.ts';

export const completionCount = z.int().min(1).max(MOST_COMPLETIONS);
export const sampleSize = z.int().min(1).max(MOST_SAMPLES);
export const temperature = z.number().nonnegative();
export const checkpointName = z.string();
