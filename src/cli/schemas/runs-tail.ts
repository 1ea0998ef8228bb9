// runs.tail.result/1: the steps after a given one.
import { z } from 'zod';
import { runWithDirectory } from '../../finished-runs/comparison-schema.ts';
import { alert, evaluationRecord, pace, stepRecord } from '../../runs/records.ts';
import { outcomeSchema } from './envelope.ts';

export const runsTailSchema = outcomeSchema(
  'runs.tail.result/1',
  'runs tail',
  'What came after a step; with --follow not ok, with exit code 6, if the run goes on when the time ran out.',
  {
    run: runWithDirectory,
    time: pace.exactOptional(),
    metrics: z.array(stepRecord),
    evals: z.array(evaluationRecord),
    alerts: z.array(alert),
    next_since: z.int().describe('the value of --since for continuing from here'),
  },
);
