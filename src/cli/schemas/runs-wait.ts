// runs.wait.result/1: how a run ended, or that it is still running.
import { z } from 'zod';
import { runWithDirectory } from '../../finished-runs/comparison-schema.ts';
import { pace } from '../../runs/records.ts';
import { outcomeSchema } from './envelope.ts';
import { trainSchema } from './train.ts';

export const runsWaitSchema = outcomeSchema(
  'runs.wait.result/1',
  'runs wait',
  'How a run ended; exit code 0 completed, 1 failed or stopped (2 to 4 as the training itself would have ended), 5 below a bar or collapsed, 6 still running when the time ran out.',
  {
    run: runWithDirectory,
    waited: z.number().describe('seconds'),
    time: pace.exactOptional(),
    result: trainSchema.exactOptional().describe('the result of the run, if it has completed'),
  },
);
