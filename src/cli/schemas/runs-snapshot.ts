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
  stacks: z
    .record(z.string(), z.string())
    .describe('stack traces of failed rewards, by the name of the reward')
    .exactOptional(),
  extra: z.record(z.string(), z.unknown()).describe('what rewards saved with it').exactOptional(),
  advantage: z.number(),
  stop_reason: stopReason,
  error: z.string().exactOptional(),
  stack: z.string().describe('the stack trace, if the environment failed').exactOptional(),
  tokens: z.int(),
});

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
