// train.result/1: a training run that ended, or was stopped; also what result.json of its directory holds.
import { z } from 'zod';
import { diagnosedAlert, evaluationRecord, numbers, verdict } from '../../runs/records.ts';
import { outcomeSchema } from './envelope.ts';
import { changedFiles, damagedCheckpoints, preflightWarnings, runSummary } from './records.ts';

export const trainSchema = outcomeSchema(
  'train.result/1',
  'train',
  'A training run that ended or was stopped; result.json of its directory holds the same.',
  {
    run: runSummary,
    metrics: numbers.describe(
      'the last step’s, and mean_reward (of the last 10 steps), final_success_rate, random_baseline and lift (held-out accuracy: after the last step, at the start, their difference)',
    ),
    evals: z.array(evaluationRecord),
    verdict,
    warnings: preflightWarnings.describe('what the checks before the run warned of; absent if nothing'),
    alerts: z.array(diagnosedAlert),
    requirements: z
      .array(
        z.strictObject({
          metric: z.string(),
          comparison: z.enum(['>=', '>', '<=', '<']),
          value: z.number(),
          actual: z.number().exactOptional().describe('absent if there is no such metric'),
          met: z.boolean(),
        }),
      )
      .exactOptional()
      .describe('the results of --require'),
    artifacts: z.record(z.string(), z.string()).describe('paths of the files that the run wrote'),
    changed_files: changedFiles,
    damaged_checkpoints: damagedCheckpoints,
    next: z.array(z.string()).describe('useful next commands'),
  },
);
