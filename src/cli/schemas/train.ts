// train.result/1: a training run that ended, or was stopped; also what result.json of its directory holds.
import { trainResultFields } from '../../training/result-schema.ts';
import { outcomeSchema } from './envelope.ts';

export const trainSchema = outcomeSchema(
  'train.result/1',
  'train',
  'A training run that ended or was stopped; result.json of its directory holds the same.',
  {
    ...trainResultFields,
    requirements: trainResultFields.requirements.describe('the results of --require'),
    next: trainResultFields.next.describe('useful next commands'),
  },
);
