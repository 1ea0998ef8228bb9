// export.result/1: a model or an adapter that was written for other programs.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { openedRun } from './records.ts';

export const exportSchema = resultSchema(
  'export.result/1',
  'export',
  'A trained model or adapter, written for use by other programs.',
  {
    run: openedRun,
    dir: z.string().describe('the folder it was written to'),
    format: z
      .enum(['merged', 'peft', 'gguf'])
      .describe(
        'merged: a complete model for transformers; peft: only the adapter; gguf: a complete model in one file',
      ),
    base_model: z.string().describe('an id on the hub, or a path'),
    files: z.array(z.string()).describe('the names of the files in `dir`'),
    left_out: z
      .array(z.string())
      .describe(
        'parts of the base that a complete model lacks: visual, its vision tower; mtp, layers that predict further tokens',
      ),
  },
);
