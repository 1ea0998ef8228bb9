// Reward 1 for a completion that is JSON and conforms to a schema, else 0.
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { RewardFunction } from '../rewards.ts';

export interface JsonSchemaConfig {
  /** A JSON schema (draft 2020-12, draft 7 or OpenAPI 3.0), as far as zod can convert it. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The score of JSON that does not conform to the schema, between 0 and 1, as partial credit. @default 0 */
  readonly parsed_score?: number;
}

export const jsonSchemaConfig: z.ZodType<JsonSchemaConfig> = z.strictObject({
  schema: z.record(z.string(), z.unknown()).superRefine((schema, context) => {
    try {
      z.fromJSONSchema(schema);
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error) });
    }
  }),
  parsed_score: z.number().min(0).max(1).exactOptional(),
});

/** Reads the last fenced block as JSON, or the whole completion if there is none. */
export function jsonSchema({ schema, parsed_score = 0 }: JsonSchemaConfig): RewardFunction {
  const validator = z.fromJSONSchema(schema);
  return ({ completions }) =>
    completions.map((completion) => {
      const parsed = parsedJson(completion);
      if (parsed === undefined) return 0;
      return validator.safeParse(parsed.value).success ? 1 : parsed_score;
    });
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  const fenced = [...text.matchAll(/```(?:json)?\s*\n([\s\S]*?)```/g)].at(-1)?.[1];
  try {
    return { value: JSON.parse(fenced ?? text) };
  } catch {
    return undefined;
  }
}
