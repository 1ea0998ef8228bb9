// Writes docs/json-output.md from the published schemas: what every command prints under --json.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { loadSchemas } from '../src/cli/command-table.ts';
import { exitCodes } from '../src/cli/exit-codes.ts';
import { jsonSchemaOf } from '../src/cli/schemas/envelope.ts';

/** The parts of a JSON Schema that the page tells. */
interface Schema {
  readonly description?: string;
  readonly anyOf?: readonly { readonly properties?: { readonly type?: { readonly const?: unknown } } }[];
}

const introduction = `# What the command prints under \`--json\`

<!-- Made by scripts/json-output.ts from the schemas in src/cli/schemas. -->

With \`--json\` stdout holds exactly one JSON object on one line, whether the command succeeds or fails; everything for people is
on stderr. \`ok\` says whether the command did what was asked, \`command\` names it, and
\`schema\` names the object's schema: \`gradus schema NAME\` prints it as JSON Schema. A failure has \`ok: false\`, an
\`error\` with a stable \`code\`, and the \`exit_code\`; its message is also the last line of stderr. If a configuration is wrong,
\`error.problems\` lists all that is wrong with it, with \`path\`, \`line\`, \`hint\` and \`rename_to\`, the key that was meant. Later versions may add keys. A version that
removes or changes a key raises the number after the name. A number that was not measured is absent, never \`0\` or \`NaN\`.

With \`train --events\` stdout holds one object per line as training proceeds, each a \`train.event/2\`.

## Exit codes

| code | meaning |
|---|---|
${exitCodes.map(({ code, meaning }) => `| ${code} | ${meaning} |`).join('\n')}
`;

/** The whole document. */
export async function jsonOutputDocument(): Promise<string> {
  return [introduction, HEADER, ...Object.entries(await loadSchemas()).map(row), ''].join('\n');
}

const HEADER = `## Objects

| schema | what it is |
|---|---|`;

function row([name, schema]: readonly [string, z.ZodType]): string {
  const { description = '', anyOf = [] } = jsonSchemaOf(name, schema) as Schema;
  const types = anyOf.flatMap(({ properties }) => properties?.type?.const ?? []);
  const events = types.length > 0 ? ` By \`type\`: ${types.map((type) => `\`${type}\``).join(', ')}.` : '';
  return `| \`${name}\` | ${description}${events} |`;
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'json-output.md'), await jsonOutputDocument());
}
