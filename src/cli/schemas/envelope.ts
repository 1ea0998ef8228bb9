// What the schemas of all results share: whether the command succeeded, the schema's name, and the command.
import { z } from 'zod';

/** What went wrong: a stable code, one line, and what to do about it. */
export const failure = z.strictObject({
  code: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  message: z.string(),
  hint: z.string().exactOptional(),
  path: z.string().exactOptional().describe('the key of the configuration, or the file'),
  problems: z
    .array(
      z.strictObject({
        code: z.string(),
        message: z.string(),
        hint: z.string().exactOptional(),
        path: z.string().exactOptional(),
        line: z.int().exactOptional().describe('of the file, counted from 1'),
        rename_to: z.string().exactOptional().describe('the key that was meant'),
      }),
    )
    .exactOptional()
    .describe('all that is wrong with a configuration; the error is the first of them'),
});

/** The result of a command that succeeded; its failures follow `error/1`. */
export function resultSchema<const N extends string, const C extends string, S extends z.core.$ZodShape>(
  schema: N,
  command: C,
  description: string,
  shape: S,
) {
  return z
    .strictObject({
      ok: z.literal(true),
      schema: z.literal(schema),
      command: z.literal(command),
      ...shape,
    })
    .describe(description);
}

/** The result of a command that has content even if it failed: then `error` and the exit code are added. */
export function outcomeSchema<const N extends string, const C extends string, S extends z.core.$ZodShape>(
  schema: N,
  command: C,
  description: string,
  shape: S,
) {
  return z
    .strictObject({
      ok: z.boolean(),
      schema: z.literal(schema),
      command: z.literal(command),
      ...shape,
      error: failure.exactOptional().describe('present if ok is false'),
      exit_code: z.int().exactOptional().describe('present if ok is false'),
    })
    .describe(description);
}

/** The JSON Schema (draft 2020-12) of a kind of output. */
export function jsonSchemaOf(name: string, schema: z.ZodType): Record<string, unknown> {
  return { title: name, ...z.toJSONSchema(schema) };
}
