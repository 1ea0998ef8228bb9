// gpu-train.result/1: the ways to train a configuration on a GPU.
import { gpuPathFields } from '../../planning/result-schema.ts';
import { outcomeSchema } from './envelope.ts';

export const gpuTrainSchema = outcomeSchema(
  'gpu-train.result/1',
  'gpu-train',
  'The ways to train a configuration on a GPU: what would run where, what is missing, what it would cost.',
  gpuPathFields,
);
