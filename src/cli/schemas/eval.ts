// eval.result/1: how good a policy is on held-out problems, beside the policy that training started from.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { changedFiles, evaluationRecord, openedRun, verdict } from './records.ts';

export const evalSchema = resultSchema(
  'eval.result/1',
  'eval',
  'How good a policy is on held-out problems, beside the policy that training started from.',
  {
    run: openedRun.exactOptional().describe('absent where a configuration was evaluated'),
    split: z.enum(['eval', 'train']),
    changed_files: changedFiles,
    evaluation: evaluationRecord,
    baseline: evaluationRecord.exactOptional().describe('absent where the baseline is what was evaluated'),
    verdict: verdict.exactOptional(),
  },
);
