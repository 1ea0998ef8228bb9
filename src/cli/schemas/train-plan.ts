// train.plan/1: what training would take, as shown by `train --dry-run`.
import { z } from 'zod';
import { planFields } from '../../planning/result-schema.ts';
import { outcomeSchema } from './envelope.ts';

const { note, ...fields } = planFields;

export const trainPlanSchema = outcomeSchema(
  'train.plan/1',
  'train',
  'What training would take, told by --dry-run, and where money would be spent that --yes does not agree to: then ok is false. Nothing is run, written or spent. Bytes and seconds.',
  {
    config: z.record(z.string(), z.unknown()).describe('the complete configuration, with a value for every key'),
    origins: z
      .record(z.string(), z.union([z.enum(['default', 'file', '--set']), z.string().regex(/^preset /)]))
      .describe('where each value comes from; keys are paths with dots'),
    ...fields,
    would_run: z.string().describe('the command that trains'),
    note,
  },
);
