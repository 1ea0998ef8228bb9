// data.check.result/1: what is wrong with the data of a configuration.
import { z } from 'zod';
import { check } from '../../checks/checks.ts';
import { lengthDistribution } from '../../data/length-distribution.ts';
import { outcomeSchema } from './envelope.ts';

export const dataCheckSchema = outcomeSchema(
  'data.check.result/1',
  'data check',
  'The data of a configuration, looked over without a model; not ok if a check of level error is not.',
  {
    checks: z.array(check),
    problems: z.strictObject({ train: z.int(), eval: z.int() }),
    prompt_lengths: lengthDistribution.exactOptional().describe('in tokens, with the chat template applied'),
  },
);
