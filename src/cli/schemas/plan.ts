// plan.result/1: what a configuration would need on given GPUs.
import { scalingFields } from '../../planning/result-schema.ts';
import { resultSchema } from './envelope.ts';

export const planSchema = resultSchema(
  'plan.result/1',
  'plan',
  'What a configuration would need on given GPUs, for each method and each way to divide the model, and which engines train so. Nothing is run. Bytes.',
  scalingFields,
);
