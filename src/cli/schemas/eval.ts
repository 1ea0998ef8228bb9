// eval.result/1: how good a policy is on held-out problems, beside the policy that training started from.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { changedFiles, evaluationRecord, openedRun, verdict } from './records.ts';

export const evalSchema = resultSchema(
  'eval.result/1',
  'eval',
  'The accuracy of a policy on held-out problems, compared with the policy that training started from.',
  {
    run: openedRun.exactOptional().describe('absent if a configuration was evaluated'),
    split: z.enum(['eval', 'train']).describe('held-out problems, or those trained on'),
    changed_files: changedFiles,
    evaluation: evaluationRecord,
    baseline: evaluationRecord.exactOptional().describe('absent if the baseline itself was evaluated'),
    verdict: verdict
      .exactOptional()
      .describe('absent if the baseline itself was evaluated, or problems that were trained on'),
  },
);
