// train.detached/1: the immediate result of `train --detach`.
import { z } from 'zod';
import { status } from '../../runs/records.ts';
import { resultSchema } from './envelope.ts';

export const trainDetachedSchema = resultSchema(
  'train.detached/1',
  'train',
  'A training run that was started in the background with --detach, and what the checks before its first step say. `runs wait` reports how it ends.',
  {
    run: z.strictObject({
      id: z.string(),
      dir: z.string(),
      backend: z.string(),
      status: status.describe('starting if it was still being checked after 45 seconds whether it can begin'),
      pid: z.int(),
    }),
    log: z.string().describe('the file with the stderr of the process'),
    next: z.array(z.string()).describe('useful next commands'),
  },
);
