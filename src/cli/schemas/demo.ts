// demo.result/1: held-out accuracy of the bundled model, before and after.
import { z } from 'zod';
import { interval } from '../../runs/records.ts';
import { runSummary } from '../../training/result-schema.ts';
import { resultSchema } from './envelope.ts';

const accuracy = z.strictObject({ accuracy: z.number(), interval });

export const demoSchema = resultSchema(
  'demo.result/1',
  'demo',
  'Held-out accuracy of the bundled model before and after training.',
  {
    seed: z.number(),
    run: runSummary,
    problems: z.int(),
    temperature: z.number(),
    before: accuracy,
    after: accuracy,
    seconds: z.number(),
    next: z.array(z.string()).describe('useful next commands'),
  },
);
