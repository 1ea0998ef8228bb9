// doctor.result/1: the checks, and whether all that are required are ok.
import { z } from 'zod';
import { outcomeSchema } from './envelope.ts';

export const doctorSchema = outcomeSchema(
  'doctor.result/1',
  'doctor',
  'Whether this machine is ready for a backend or a configuration.',
  {
    backend: z.string(),
    compute: z.enum(['local', 'modal']),
    checks: z.array(
      z.strictObject({
        id: z.string(),
        ok: z.boolean(),
        required: z.boolean().describe('whether the backend or the configuration needs it'),
        detail: z.string(),
        fix: z.string().exactOptional().describe('how to make it ok'),
        fixed: z.literal(true).exactOptional().describe('present if --fix made it ok'),
      }),
    ),
  },
);
