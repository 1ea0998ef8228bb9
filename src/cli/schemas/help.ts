// help.result/1: a help text, and what it says as data: what a command takes, the list of commands, or the table of exit codes.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const helpSchema = resultSchema(
  'help.result/1',
  'help',
  'A help text. That of a command also has its arguments and options, the overview the list of commands, and the topic exit-codes their table.',
  {
    text: z.string(),
    commands: z
      .array(z.strictObject({ name: z.string(), usage: z.string(), description: z.string() }))
      .exactOptional()
      .describe('every command, including subcommands such as `runs list`, or those of a group'),
    arguments: z
      .array(z.strictObject({ name: z.string(), required: z.boolean(), description: z.string() }))
      .exactOptional(),
    options: z
      .array(
        z.strictObject({
          name: z.string().describe('as it is typed: `--set`'),
          value: z.string().exactOptional().describe('what stands behind it; absent if nothing does'),
          required: z.boolean(),
          default: z.unknown().exactOptional(),
          description: z.string(),
        }),
      )
      .exactOptional(),
    exit_codes: z.array(z.strictObject({ code: z.int(), meaning: z.string() })).exactOptional(),
  },
);
