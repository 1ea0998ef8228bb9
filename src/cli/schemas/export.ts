// export.result/1: a model or an adapter that was written for other programs.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { openedRun } from './records.ts';

export const exportSchema = resultSchema(
  'export.result/1',
  'export',
  'What a run learnt, written for other programs.',
  {
    run: openedRun,
    dir: z.string().describe('where it was written'),
    format: z.enum(['merged', 'peft']).describe('merged: a whole model; peft: the adapter alone'),
    base_model: z.string(),
    files: z.array(z.string()).describe('names in `dir`'),
  },
);
