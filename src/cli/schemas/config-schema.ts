// config-schema.result/1: the JSON Schema of configurations.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const configSchemaSchema = resultSchema(
  'config-schema.result/1',
  'config-schema',
  'The JSON Schema of configurations.',
  {
    json_schema: z.record(z.string(), z.unknown()),
  },
);
