// sample.result/1: completions with their rewards.
import { z } from 'zod';
import { sampleRecord } from '../../runs/records.ts';
import { resultSchema } from './envelope.ts';
import { openedRun } from './records.ts';

export const sampleSchema = resultSchema('sample.result/1', 'sample', 'Completions with their rewards.', {
  run: openedRun.exactOptional().describe('absent if a configuration was sampled from'),
  samples: z.array(sampleRecord),
});
