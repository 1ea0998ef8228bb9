// schema.result/1: the JSON Schema of one kind of output, or the names of all.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const schemaSchema = resultSchema(
  'schema.result/1',
  'schema',
  'The JSON Schema of one kind of output, or the names of all kinds.',
  {
    schemas: z.array(z.string()).exactOptional().describe('the names of all schemas, if none was asked for'),
    name: z.string().exactOptional(),
    json_schema: z.record(z.string(), z.unknown()).exactOptional(),
  },
);
