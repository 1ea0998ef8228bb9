// sweep.result/1: the trials of a sweep, the best first; sweep.plan/1: what a sweep would train.
import { z } from 'zod';
import { sweepPlan, sweepRecord } from '../../sweep/sweep-files.ts';
import { sweepResultFields, sweepSteps } from '../../sweep/sweep-schema.ts';
import { outcomeSchema, resultSchema } from './envelope.ts';

export const sweepSchema = resultSchema(
  'sweep.result/1',
  'sweep',
  'The trials of a sweep, the best first; result.json of its folder holds the same, without next. It does not depend on --jobs.',
  { ...sweepResultFields, next: z.array(z.string()).describe('useful next commands') },
);

export const sweepPlanSchema = resultSchema(
  'sweep.plan/1',
  'sweep',
  'What a sweep would train, told by --dry-run. Nothing is run or written.',
  {
    dir: z.string(),
    ...sweepPlan.shape,
    runs: z.int().describe('trials × seeds'),
    steps: sweepSteps.describe('if no run ends before its last step'),
    would_run: z.string().describe('the command that sweeps'),
  },
);

export const sweepDetachedSchema = resultSchema(
  'sweep.detached/1',
  'sweep',
  'A sweep that was started in the background; gradus runs wait waits for it.',
  {
    sweep: z.strictObject({ dir: z.string(), pid: z.int() }),
    log: z.string().describe('the file with the stderr of its process'),
    next: z.array(z.string()),
  },
);

const status = z.strictObject({ dir: z.string(), ...sweepRecord.omit({ trials: true, config: true }).shape });

export const sweepStoppedSchema = outcomeSchema(
  'sweep.stopped/1',
  'runs stop',
  'A sweep that was asked to stop, with its runs; not ok, with exit code 6, if it has not yet when the time ran out.',
  { sweep: status, asked: z.boolean().describe('whether there was a process to stop') },
);

export const sweepStatusSchema = outcomeSchema(
  'sweep.status/1',
  'runs wait',
  'How a sweep ended; exit code 0 completed, 1 stopped or killed, that of its error if it failed, 6 still running when the time ran out.',
  {
    sweep: status,
    waited: z.number().describe('seconds'),
    result: sweepSchema.omit({ next: true }).exactOptional().describe('what it found, if it has completed'),
    next: z.array(z.string()).exactOptional().describe('useful next commands, if it has completed'),
  },
);
