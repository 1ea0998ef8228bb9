// error/1: the result of a command that fails without a result of its own.
import { z } from 'zod';
import { failure } from './envelope.ts';

export const errorSchema = z
  .strictObject({
    ok: z.literal(false),
    schema: z.literal('error/1'),
    command: z.string().nullable().describe('its whole name, such as runs show; null if the command line names none'),
    error: failure,
    run: z
      .strictObject({ id: z.string(), dir: z.string() })
      .exactOptional()
      .describe('the run that failed; absent if none had begun'),
    exit_code: z.int().min(1),
  })
  .describe('The result of any command that fails and has nothing else to report.');
