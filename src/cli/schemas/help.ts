// help.result/1: a help text; with the overview also the list of commands, with the topic exit-codes also their table.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const helpSchema = resultSchema(
  'help.result/1',
  'help',
  'A help text. The overview also has the list of commands, and the topic exit-codes has their table.',
  {
    text: z.string(),
    commands: z
      .array(z.strictObject({ name: z.string(), usage: z.string(), description: z.string() }))
      .exactOptional()
      .describe('every command, including subcommands such as `runs list`'),
    exit_codes: z.array(z.strictObject({ code: z.int(), meaning: z.string() })).exactOptional(),
  },
);
