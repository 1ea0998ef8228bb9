// conformance.result/1: every vector that ships, recomputed on this machine.
import { z } from 'zod';
import { conformanceCheck } from '../../conformance/conformance-check.ts';
import { outcomeSchema } from './envelope.ts';

export const conformanceSchema = outcomeSchema(
  'conformance.result/1',
  'conformance',
  'Losses, advantages and divergences recomputed on this machine, beside what their oracles computed; not ok if any check is not.',
  {
    oracles: z.record(z.string(), z.string()).describe('the versions of the packages that made the vectors'),
    onnxruntime: z.string(),
    tolerance: z.number(),
    checks: z.array(conformanceCheck),
  },
);
