// gradus schema: prints the JSON Schema of `--json` output.
import { Command } from 'commander';
import type { z } from 'zod';
import { existingNames } from '../../common/nearest.ts';
import { GradusError } from '../../errors.ts';
import type { Cli } from '../cli.ts';

const EXAMPLES = `Examples:
  gradus schema                    their names
  gradus schema train.result/1
  gradus schema train              the same
  gradus schema train.result.brief/1   what --brief prints instead
`;

type LoadSchemas = () => Promise<Readonly<Record<string, z.ZodType>>>;

/** @param load all schemas, by name */
export function schemaCommand(cli: Cli, load: LoadSchemas): Command {
  return new Command('schema')
    .description('print the JSON Schema of what a command prints with --json')
    .argument('[name]', 'the value of `schema` in an output, or the name of a command')
    .option('--json', 'print one JSON object on stdout')
    .addHelpText('before', EXAMPLES)
    .action(cli.action((name?: string) => showSchema(cli, load, name)));
}

async function showSchema({ output }: Cli, load: LoadSchemas, given: string | undefined): Promise<undefined> {
  const { jsonSchemaOf } = await import('../schemas/envelope.ts');
  const schemas = await load();
  const names = Object.keys(schemas);
  const common = { ok: true, schema: 'schema.result/1', command: 'schema' };
  if (given === undefined) return output.result({ ...common, schemas: names }, names.join('\n')) as undefined;
  const meant = [given, `${given.replaceAll(' ', '.')}.result`];
  const name = names.find((known) => known === given || meant.includes(known.replace(/\/\d+$/, '')));
  if (name === undefined) {
    throw new GradusError('USAGE', `there is no schema ${given}`, { hint: existingNames(given, names) });
  }
  const json_schema = jsonSchemaOf(name, schemas[name]!);
  output.result({ ...common, name, json_schema }, JSON.stringify(json_schema, null, 2));
  return undefined;
}
