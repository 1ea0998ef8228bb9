// agent-docs.result/1: the list of guides, or one of them.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const agentDocsSchema = resultSchema('agent-docs.result/1', 'agent-docs', 'The guides, or one of them.', {
  topics: z
    .array(z.strictObject({ topic: z.string(), title: z.string() }))
    .exactOptional()
    .describe('present where none was asked for'),
  documents: z
    .string()
    .exactOptional()
    .describe('likewise: the folder with all other documents of this version, such as data.md and programs.md'),
  topic: z.string().exactOptional(),
  text: z.string().exactOptional().describe('Markdown'),
});
