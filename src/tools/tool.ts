// Tools: what a model may call, as a schema of its arguments and the function that answers.
import { z } from 'zod';
import type { ToolSpec } from '../message.ts';

/** A tool that answers for itself. One that is only a `ToolSpec` is shown to the model, and its environment answers. */
export interface Tool extends ToolSpec {
  /** What a call gives. Throws `ToolArgumentsError` where `args` are not as the schema says. */
  readonly call: (args: unknown) => unknown;
}

export interface ToolOptions<S extends z.ZodType> {
  readonly name: string;
  /** What the tool does and when to use it: all that the model knows of it, besides the schema. */
  readonly description: string;
  /** The arguments, an object; what its `describe` says is shown to the model. */
  readonly parameters: S;
  /** Text is given to the model as it is, anything else as JSON; what it throws is told to the model. */
  readonly execute: (args: z.output<S>) => unknown;
}

export class ToolArgumentsError extends Error {
  override readonly name = 'ToolArgumentsError';
}

/** A tool from a zod schema and a function. */
export function tool<S extends z.ZodType>({ name, description, parameters, execute }: ToolOptions<S>): Tool {
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
  return {
    name,
    description,
    parameters: schema,
    call(args) {
      const result = parameters.safeParse(args);
      if (result.success) return execute(result.data);
      throw new ToolArgumentsError(result.error.issues.map(issueText).join('; '));
    },
  };
}

function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length > 0 ? `${path.join('.')}: ${message}` : message;
}
