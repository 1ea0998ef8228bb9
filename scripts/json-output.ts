// Writes docs/json-output.md from the published schemas: what every command prints under --json.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { loadSchemas } from '../src/cli/command-table.ts';
import { exitCodes } from '../src/cli/exit-codes.ts';
import { jsonSchemaOf } from '../src/cli/schemas/envelope.ts';

/** The parts of a JSON Schema that ours are made of. */
interface Schema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

/** The keys that the introduction explains. */
const common = ['ok', 'schema', 'command', 'type'];

const introduction = `# What the command prints under \`--json\`

<!-- Made by scripts/json-output.ts from the schemas in src/cli/schemas. -->

With \`--json\` stdout holds exactly one JSON object on one line, whether the command succeeds or fails; everything for people is
on stderr. \`ok\` says whether the command did what was asked, \`command\` names it, and
\`schema\` names the object's schema: \`gradus schema NAME\` prints it as JSON Schema. A failure has \`ok: false\`, an
\`error\` with a stable \`code\`, and the \`exit_code\`; its message is also the last line of stderr. Later versions may add keys. A version that
removes or changes a key raises the number after the name. A number that was not measured is absent, never \`0\` or \`NaN\`. The tables
name the keys of each object; its schema has the keys of the objects inside it.

With \`train --events\` stdout holds one object per line as training proceeds, each a \`train.event/2\`.

## Exit codes

| code | meaning |
|---|---|
${exitCodes.map(({ code, meaning }) => `| ${code} | ${meaning} |`).join('\n')}
`;

/** The whole document. */
export async function jsonOutputDocument(): Promise<string> {
  return [introduction, ...Object.entries(await loadSchemas()).map(section)].join('\n');
}

function section([name, of]: readonly [string, z.ZodType]): string {
  const schema = jsonSchemaOf(name, of) as Schema;
  const variants = schema.anyOf ?? [schema];
  const tables = variants.map((variant) => {
    const rows = rowsOf(variant)
      .filter(([key]) => !common.includes(key))
      .map(([key, type, meaning]) => `| \`${key}\` | ${type} | ${meaning} |`);
    const type = variant.properties?.type?.const;
    const heading = type === undefined ? '' : `### ${type}\n\n`;
    return `${heading}| key | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [`## ${name}\n`, ...(schema.description ? [`${schema.description}\n`] : []), ...tables].join('\n');
}

/** A row for each key of the object itself. */
function rowsOf({ properties = {}, required = [] }: Schema): [key: string, type: string, meaning: string][] {
  return Object.entries(properties).map(([key, child]) => {
    const description = child.description ?? '';
    const saysWhen = /(absent|present) if|absent unless/.test(description);
    const meaning = [required.includes(key) || saysWhen ? '' : 'may be absent', description].filter(Boolean).join('; ');
    return [key, typeOf(child), meaning];
  });
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.prefixItems) return `[${schema.prefixItems.map(typeOf).join(', ')}]`;
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties) {
    const values = typeOf(schema.additionalProperties);
    return values === 'anything' ? 'object' : `object of ${values}`;
  }
  return schema.format ?? [schema.type ?? 'anything'].flat().join(' or ');
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'json-output.md'), await jsonOutputDocument());
}
