// What several results say of runs.
import { z } from 'zod';

/** The run and the step of the checkpoint that was opened. */
export const openedRun = z.strictObject({ dir: z.string(), step: z.int() });
