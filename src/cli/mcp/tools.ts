// The tools of the server: one for each command, made from the table of commands and the schemas of what they print.
import type { Tool } from '@modelcontextprotocol/server';
import type { Command } from 'commander';
import type { z } from 'zod';
import { isObject } from '../../errors.ts';
import { briefName } from '../brief/briefs.ts';
import { jsonSchemaOf } from '../schemas.ts';
import { commandLine, inputSchema, type ToolInput } from './inputs.ts';

export interface CommandTool {
  readonly tool: Tool;
  /** The command line for an input, without the program's name. Throws `OPTION_INVALID`. */
  readonly line: (input: ToolInput) => string[];
}

/** The whole names of commands that differ from the others. */
export interface CommandKinds {
  /** They run until they are stopped. */
  readonly serving: ReadonlySet<string>;
  /** They change no files but caches. */
  readonly reading: ReadonlySet<string>;
}

/** A command that prints no object of its own, or runs until it is stopped, is not a tool. */
export function commandTools(
  program: readonly Command[],
  schemas: Readonly<Record<string, z.ZodType>>,
  { serving, reading }: CommandKinds,
): CommandTool[] {
  const printed = Object.entries(schemas)
    // Tools answer in brief.
    .filter(([name]) => !Object.hasOwn(schemas, briefName(name)))
    .map(([name, schema]) => jsonSchemaOf(name, schema));
  const ofAll = printed.filter((schema) => ['error/1', 'fields/1'].includes(String(constantOf(schema, 'schema'))));
  return leaves(program).flatMap(({ name, command }) => {
    const outputs = printed.filter((schema) => constantOf(schema, 'command') === name);
    if (serving.has(name) || outputs.length === 0) return [];
    // The schemas of commands and of zod are of values that TypeScript does not know to be JSON.
    const tool = {
      name: name.replaceAll(/[ -]/g, '_'),
      title: `gradus ${name}`,
      description: command.description(),
      inputSchema: inputSchema(command),
      outputSchema: { type: 'object', anyOf: [...outputs, ...ofAll].map(inShort) },
      annotations: {
        readOnlyHint: reading.has(name),
        // Confirmation is an option of these: nothing is spent or overwritten without it.
        destructiveHint: command.options.some(({ long }) => long === '--yes' || long === '--overwrite'),
      },
    } as unknown as Tool;
    return [{ tool, line: (input: ToolInput) => [...name.split(' '), ...commandLine(command, input)] }];
  });
}

/** The commands with those in groups, by their whole names. */
function leaves(commands: readonly Command[], prefix = ''): { name: string; command: Command }[] {
  return commands.flatMap((command) => {
    const name = prefix + command.name();
    return command.commands.length > 0 ? leaves(command.commands, `${name} `) : [{ name, command }];
  });
}

function constantOf(schema: Readonly<Record<string, unknown>>, key: string): unknown {
  const { properties } = schema as { properties?: Readonly<Record<string, { const?: unknown }>> };
  return properties?.[key]?.const;
}

/**
 * A schema inside another one does not say its dialect, so it is written as those of all drafts are. Nor does it describe its keys here, which the tool `schema`
 * does: descriptions would be most of a client's list.
 */
function inShort(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inShort);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(withoutPrefix(schema)).filter(
    ([key, value]) => key !== '$schema' && !(key === 'description' && typeof value === 'string'),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, inShort(value)]));
}

/** To draft 7, which many clients know, `prefixItems` is nothing, and `items: false` beside it allows no item at all. */
function withoutPrefix(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { prefixItems, items: _, ...others } = schema;
  if (!Array.isArray(prefixItems)) return schema;
  const kinds = [...new Map(prefixItems.map((kind) => [JSON.stringify(kind), kind])).values()];
  const items = kinds.length === 1 ? kinds[0] : { anyOf: kinds };
  return { ...others, items, minItems: prefixItems.length, maxItems: prefixItems.length };
}
