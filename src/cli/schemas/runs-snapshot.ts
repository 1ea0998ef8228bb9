// runs.snapshot.result/1: what happened around a step.
import { z } from 'zod';
import { runWithDirectory } from '../../finished-runs/comparison-schema.ts';
import { alert, evaluationRecord, message, rolloutCompletion, sampleRecord, stepRecord } from '../../runs/records.ts';
import { resultSchema } from './envelope.ts';

const completion = rolloutCompletion
  .omit({ opening: true, token_ids: true, logprobs: true, calls: true })
  .extend({ tokens: z.int() });

export const runsSnapshotSchema = resultSchema(
  'runs.snapshot.result/1',
  'runs snapshot',
  'The records of a run around one step.',
  {
    run: runWithDirectory,
    around: z.int(),
    window: z.int().describe('how many steps before and after are included'),
    metrics: z.array(stepRecord),
    timings: z.array(stepRecord).describe('seconds'),
    evals: z.array(evaluationRecord),
    alerts: z.array(alert),
    samples: z.array(sampleRecord),
    groups: z
      .array(z.strictObject({ id: z.string(), prompt: z.array(message), completions: z.array(completion) }))
      .describe('those of the step itself'),
  },
);
