// gradus mcp: serves the commands to agents as tools of the Model Context Protocol.
import { Command } from 'commander';
import type { z } from 'zod';
import { GradusError, messageOf } from '../../errors.ts';
import type { Cli } from '../cli.ts';
import { table } from '../formatting.ts';
import type { CommandKinds } from '../mcp/tools.ts';
import { withStopSignals } from '../signals.ts';

const EXAMPLES = `Examples:
  gradus mcp                                   for an MCP client to start, which speaks over stdin and stdout
  gradus mcp --folder my-task               with the configurations and runs of this folder
  gradus mcp --list --json                     the tools that it has
`;

interface McpFlags {
  readonly folder?: string;
  readonly list?: boolean;
}

/** What the server is made from: all commands, and the schemas of what they print. */
interface Source {
  readonly program: () => Promise<readonly Command[]>;
  readonly schemas: () => Promise<Readonly<Record<string, z.ZodType>>>;
  readonly kinds: CommandKinds;
}

export function mcpCommand(cli: Cli, source: Source): Command {
  return new Command('mcp')
    .description('serve the commands as tools, and run directories as resources, to an MCP client over stdio')
    .option('--folder <dir>', 'the folder that paths and runs are relative to (default: the current one)')
    .option('--list', 'print the tools instead of serving them')
    .option('--json', 'print one JSON object on stdout; with --list')
    .addHelpText('before', EXAMPLES)
    .action(cli.action((flags: McpFlags) => runServer(cli, flags, source)));
}

async function runServer({ output, stdin }: Cli, { folder, list }: McpFlags, source: Source) {
  const { commandTools } = await import('../mcp/tools.ts');
  const tools = commandTools(await source.program(), await source.schemas(), source.kinds);
  if (list) {
    const listed = tools.map(({ tool }) => ({ name: tool.name, description: tool.description! }));
    const result = { ok: true, schema: 'mcp.result/1', command: 'mcp', tools: listed };
    return output.result(result, table(listed.map(({ name, description }) => [name, description]))) as undefined;
  }
  if (output.mode !== 'text') {
    throw new GradusError('USAGE', 'stdout of gradus mcp holds the messages of the protocol', {
      hint: 'leave --json out, or add --list',
    });
  }
  if (folder !== undefined) enter(folder);
  const { serveMcp } = await import('../mcp/mcp-server.ts');
  await withStopSignals((signal) => serveMcp(tools, { stdin: stdin(), stdout: output.stdout, signal }));
  return undefined;
}

function enter(folder: string): void {
  try {
    process.chdir(folder);
  } catch (cause) {
    throw new GradusError('USAGE', `--folder ${folder}: ${messageOf(cause)}`, {
      hint: 'give a folder that exists',
      cause,
    });
  }
}
