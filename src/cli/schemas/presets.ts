// presets.result/1: presets with their values.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

const values = z.record(z.string(), z.unknown());

export const presetsSchema = resultSchema(
  'presets.result/1',
  'presets',
  'Presets: settings that are meant to be used together.',
  {
    presets: z.array(
      z.strictObject({
        name: z.string(),
        source: z.string().describe('the paper, or the purpose'),
        when: z.string().describe('when to use it'),
        values: values.describe('the values that it sets, unless the configuration sets them'),
        parts: z.record(z.string(), values).exactOptional().describe('additional values, by backend'),
      }),
    ),
  },
);
