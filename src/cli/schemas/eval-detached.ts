// eval.detached/1: an evaluation that was started with --detach; eval.status/1: how it ended.
import { z } from 'zod';
import { backgroundEvaluation } from '../../runs/background-evaluations.ts';
import { outcomeSchema, resultSchema } from './envelope.ts';
import { evalSchema } from './eval.ts';

export const evalDetachedSchema = resultSchema(
  'eval.detached/1',
  'eval',
  'An evaluation of a run that was started in the background with --detach. `runs wait RUN --eval` reports how it ends.',
  { dir: z.string(), evaluation: backgroundEvaluation, next: z.array(z.string()).describe('useful next commands') },
);

export const evalStatusSchema = outcomeSchema(
  'eval.status/1',
  'runs wait',
  'How an evaluation in the background ended, with its exit code; 6 if it is still running when the time ran out.',
  {
    dir: z.string(),
    evaluation: backgroundEvaluation,
    waited: z.number().describe('seconds'),
    result: evalSchema.exactOptional().describe('what it printed, if it was made'),
  },
);
