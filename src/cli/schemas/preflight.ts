// preflight.result/1: whether anything would prevent learning.
import { z } from 'zod';
import { check } from '../../checks/checks.ts';
import { numbers, sampleRecord } from '../../runs/records.ts';
import { outcomeSchema } from './envelope.ts';

export const preflightSchema = outcomeSchema(
  'preflight.result/1',
  'preflight',
  'What a few completions of the untrained policy tell; not ok if a check of level error is not.',
  {
    checks: z.array(check),
    metrics: numbers.describe(
      'those of a step’s rollouts, and logprob_gap: the most that sampler and trainer differ, in nats a token',
    ),
    samples: z.array(sampleRecord),
  },
);
