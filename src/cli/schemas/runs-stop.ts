// runs.stop.result/1: the state of a run that was asked to stop.
import { z } from 'zod';
import { runWithDirectory } from '../../finished-runs/comparison-schema.ts';
import { outcomeSchema } from './envelope.ts';

export const runsStopSchema = outcomeSchema(
  'runs.stop.result/1',
  'runs stop',
  'A run that was asked to stop; not ok, with exit code 6, if it has not yet when the time ran out.',
  {
    run: runWithDirectory,
    asked: z.boolean().describe('whether there was a process to stop'),
    checkpoint: z.int().exactOptional().describe('the step of the latest checkpoint'),
  },
);
