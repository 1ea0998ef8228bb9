// runs.snapshot.result/1: what happened around a step.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import {
  alert,
  evaluationRecord,
  exchanged,
  message,
  runWithDirectory,
  sampleRecord,
  stepRecord,
  stopReason,
} from './records.ts';

const completion = z.strictObject({
  text: z.string(),
  messages: exchanged,
  reward: z.number().nullable(),
  rewards: z.record(z.string(), z.number().nullable()),
  errors: z.record(z.string(), z.string()).exactOptional(),
  stacks: z.record(z.string(), z.string()).describe('where rewards failed').exactOptional(),
  extra: z.record(z.string(), z.unknown()).describe('what rewards wanted kept beside it').exactOptional(),
  advantage: z.number(),
  stop_reason: stopReason,
  error: z.string().exactOptional(),
  stack: z.string().describe('where the environment failed').exactOptional(),
  tokens: z.int(),
});

export const runsSnapshotSchema = resultSchema(
  'runs.snapshot.result/1',
  'runs snapshot',
  'What happened around a step of a run.',
  {
    run: runWithDirectory,
    around: z.int(),
    window: z.int().describe('steps before and after'),
    metrics: z.array(stepRecord),
    timings: z.array(stepRecord).describe('seconds'),
    evals: z.array(evaluationRecord),
    alerts: z.array(alert),
    samples: z.array(sampleRecord),
    groups: z
      .array(z.strictObject({ id: z.string(), prompt: z.array(message), completions: z.array(completion) }))
      .describe('of the step itself'),
  },
);
