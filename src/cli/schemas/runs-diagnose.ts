// runs.diagnose.result/1: what the rules of run health find.
import { z } from 'zod';
import { runWithDirectory } from '../../finished-runs/comparison-schema.ts';
import { diagnosedAlert, verdict } from '../../runs/records.ts';
import { preflightWarnings } from '../../training/result-schema.ts';
import { outcomeSchema } from './envelope.ts';

export const runsDiagnoseSchema = outcomeSchema(
  'runs.diagnose.result/1',
  'runs diagnose',
  'What the rules of run health find; not ok, with exit code 2, while an alert of level error holds.',
  {
    run: runWithDirectory,
    steps: z.int(),
    warnings: preflightWarnings.describe(
      'what the checks before the run warned of, and of a run that learnt what casts doubt on it, such as leakage; absent if nothing',
    ),
    alerts: z.array(diagnosedAlert),
    verdict,
  },
);
