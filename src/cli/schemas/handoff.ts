// handoff.result/1: a folder with which another system runs the same training.
import { z } from 'zod';
import type { HandoffResult } from '../../handoff/handoff.ts';
import { resultSchema } from './envelope.ts';
import { leavingFolder } from './leaving-folder.ts';

const override = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.array(z.string()),
  z.array(z.number()),
  z.record(z.string(), z.number()),
]);

export const handoffSchema: z.ZodType<HandoffResult> = resultSchema(
  'handoff.result/1',
  'handoff',
  'A folder with data, rewards, settings and a script, with which another system runs the same training.',
  {
    to: z.strictObject({
      name: z.enum(['verl', 'unsloth']),
      version: z.string().describe('the release that it is made for'),
    }),
    dir: z.string(),
    dry_run: z.boolean().describe('whether nothing was written'),
    files: z.array(z.string()).describe('the names of the files in `dir`; none if nothing was written'),
    code: z
      .array(leavingFolder.extend({ to: z.string().describe('its place in `dir`') }))
      .describe('the files of your code, which are copied, by folder'),
    problems: z.strictObject({ train: z.int(), eval: z.int() }),
    steps: z.int(),
    prompt_tokens: z.int().describe('the most tokens that a prompt may have'),
    overrides: z
      .record(z.string(), override)
      .describe('the other system’s keys and their values, but for paths and numbers of GPUs'),
    differences: z.array(z.string()).describe('where training differs although every key was handed over'),
    next: z.array(z.string()).describe('useful next commands'),
  },
);
