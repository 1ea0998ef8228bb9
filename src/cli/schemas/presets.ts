// presets.result/1: presets with their values.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

const values = z.record(z.string(), z.unknown());

export const presetsSchema = resultSchema('presets.result/1', 'presets', 'Settings that belong together.', {
  presets: z.array(
    z.strictObject({
      name: z.string(),
      source: z.string().describe('the paper, or the purpose'),
      when: z.string().describe('when to use it'),
      values: values.describe('what it sets, unless the configuration says otherwise'),
      parts: z.record(z.string(), values).exactOptional().describe('what it sets besides, by backend'),
    }),
  ),
});
