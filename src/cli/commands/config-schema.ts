// gradus config-schema: prints the JSON Schema of configurations, for editors and agents.
import { Command } from 'commander';
import type { Cli } from '../main.ts';

const examples = `Examples:
  gradus config-schema > gradus.schema.json
      # then, as the first line of a config: # yaml-language-server: $schema=gradus.schema.json
`;

export function configSchemaCommand(cli: Cli): Command {
  return new Command('config-schema')
    .description('print the JSON Schema of configurations: every key with its type, default and meaning')
    .option('--json', 'print one JSON object on stdout')
    .addHelpText('before', examples)
    .action(
      cli.action(async () => {
        const { z } = await import('zod');
        const { configSchema } = await import('../../config/schema.ts');
        const json_schema = { title: 'Gradus configuration', ...z.toJSONSchema(configSchema, { io: 'input' }) };
        cli.output.result(
          { ok: true, schema: 'config-schema.result/1', command: 'config-schema', json_schema },
          JSON.stringify(json_schema, null, 2),
        );
        return undefined;
      }),
    );
}
