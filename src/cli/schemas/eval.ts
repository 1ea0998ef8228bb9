// eval.result/1: how good a policy is on held-out problems, compared with the policy that training started from.
import { z } from 'zod';
import { checkedRequirement } from '../../goals/requirements.ts';
import { evaluationRecord, verdict } from '../../runs/records.ts';
import { changedFiles } from '../../training/result-schema.ts';
import { outcomeSchema } from './envelope.ts';
import { openedRun } from './records.ts';

export const evalSchema = outcomeSchema(
  'eval.result/1',
  'eval',
  'The accuracy of a policy on held-out problems, compared with the policy that training started from.',
  {
    run: openedRun.exactOptional().describe('absent if a configuration was evaluated'),
    adapter: z.string().exactOptional().describe('of a configuration that was evaluated; absent if it has none'),
    completions: z
      .string()
      .exactOptional()
      .describe(
        'the file with all completions; absent if a configuration was evaluated, or a run that cannot be written',
      ),
    continued: z
      .int()
      .exactOptional()
      .describe('the number of completions that an interrupted evaluation had; absent if there was none'),
    split: z.enum(['eval', 'train']).describe('held-out problems, or those trained on'),
    changed_files: changedFiles,
    evaluation: evaluationRecord,
    baseline: evaluationRecord.exactOptional().describe('absent if the baseline itself was evaluated'),
    verdict: verdict
      .exactOptional()
      .describe('absent if the baseline itself was evaluated, or problems that were trained on'),
    requirements: z.array(checkedRequirement).exactOptional().describe('the results of --require'),
  },
);
