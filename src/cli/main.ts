// The `gradus` command: reads arguments, runs one command, answers with its exit code.
import { Command, CommanderError } from 'commander';
import { GradusError } from '../errors.ts';
import { existingNames } from '../nearest.ts';
import { listCommands, overview } from './command-list.ts';
import { agentDocsCommand } from './commands/agent-docs.ts';
import { configSchemaCommand } from './commands/config-schema.ts';
import { conformanceCommand } from './commands/conformance.ts';
import { dataCommand } from './commands/data.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { envCommand } from './commands/env.ts';
import { evalCommand } from './commands/eval.ts';
import { exportCommand } from './commands/export.ts';
import { gpuTrainCommand } from './commands/gpu-train.ts';
import { helpCommand } from './commands/help.ts';
import { initCommand } from './commands/init.ts';
import { preflightCommand } from './commands/preflight.ts';
import { presetsCommand } from './commands/presets.ts';
import { replayCommand } from './commands/replay.ts';
import { rewardsCommand } from './commands/rewards.ts';
import { runsCommand } from './commands/runs.ts';
import { sampleCommand } from './commands/sample.ts';
import { schemaCommand } from './commands/schema.ts';
import { skillsCommand } from './commands/skills.ts';
import { trainCommand } from './commands/train.ts';
import { versionCommand } from './commands/version.ts';
import { showDownloads, tellDownloads } from './download-progress.ts';
import type { ExitCode } from './exit-codes.ts';
import { Output, type Stream } from './output.ts';
import { ownStdout } from './own-stdout.ts';

/** What commands are given; their work answers with the exit code. */
export interface Cli {
  readonly output: Output;
  /** The whole command line, without the program's name. */
  readonly argv: readonly string[];
  /** Turns what a command does into commander's action. */
  action<A extends unknown[]>(
    work: (...args: A) => Promise<ExitCode | undefined> | ExitCode | undefined,
  ): (...args: A) => Promise<void>;
}

export interface Streams {
  readonly stdout: Stream;
  readonly stderr: Stream;
}

const examples = `Examples:
  gradus demo                                  train a tiny transformer with GRPO, here and now
  gradus train configs/arithmetic-smollm2.yaml
  gradus train grpo.yaml --set lora.r=8 --name small --json
  gradus eval runs/small --n 200
  gradus sample latest --n 8
`;

/** Runs one command line, without the program's name. Never throws. */
export async function main(
  argv: readonly string[],
  { stdout, stderr }: Streams = { stdout: ownStdout(), stderr: process.stderr },
): Promise<number> {
  const mode = argv.includes('--events') ? 'events' : argv.includes('--json') ? 'json' : 'text';
  const output = new Output(mode, stdout, stderr, process.env);
  const command = argv.find((argument) => !argument.startsWith('-')) ?? null;
  const help: string[] = [];
  let exitCode: ExitCode = 0;
  const cli: Cli = {
    ...{ output, argv },
    action:
      (work) =>
      async (...args) => {
        exitCode = (await work(...args)) ?? 0;
      },
  };
  const program = createProgram(cli, help);
  const watches = [showDownloads(output), tellDownloads(output)];
  const showHelp = () => {
    const isWhole = command === null || argv.filter((argument) => !argument.startsWith('-')).join() === 'help';
    if (help.length > 0)
      output.result(helpResult(help.join(''), isWhole ? program : undefined), help.join('').trimEnd());
  };
  try {
    await program.parseAsync(argv[0] === '--version' ? ['version', ...argv.slice(1)] : argv, { from: 'user' });
    showHelp();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      showHelp();
      return 0;
    }
    if (process.env.GRADUS_DEBUG && error instanceof Error) output.note(error.stack ?? '');
    return output.failure(error instanceof CommanderError ? usageError(error) : error, command);
  } finally {
    for (const end of watches) end();
  }
}

function createProgram(cli: Cli, help: string[]): Command {
  const program = new Command('gradus')
    .description('GRPO fine-tuning of language models from TypeScript')
    .addHelpText('before', examples)
    .helpCommand(false)
    .option('--json', 'one JSON object on stdout, with every command')
    .argument('[command...]')
    .action(([command]: readonly string[]) => {
      if (command === undefined) return cli.output.result(helpResult(overview, program), overview);
      const names = program.commands.map((known) => known.name());
      throw new GradusError('USAGE', `there is no command ${command}`, { hint: existingNames(command, names) });
    });
  const add = [
    ...[trainCommand, evalCommand, sampleCommand, exportCommand, runsCommand, demoCommand],
    ...[doctorCommand, gpuTrainCommand, initCommand, agentDocsCommand, skillsCommand],
    ...[rewardsCommand, replayCommand],
    ...[conformanceCommand, presetsCommand],
    ...[dataCommand, envCommand],
    ...[preflightCommand],
    ...[configSchemaCommand, schemaCommand, versionCommand, helpCommand],
  ];
  for (const make of add) program.addCommand(make(cli));
  settle(program, help);
  return program;
}

/** Errors are thrown, and help, which comes in pieces, is collected. */
function settle(command: Command, help: string[]): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => help.push(text),
    writeErr: () => {},
    outputError: () => {},
  });
  for (const child of command.commands) settle(child, help);
}

/** The help of one command is its text; that of the whole also lists all commands. */
function helpResult(text: string, ofWhole?: Command): object {
  const commands = ofWhole && { commands: listCommands(ofWhole) };
  return { ok: true, schema: 'help.result/1', command: 'help', text, ...commands };
}

/** Commander's complaint as ours: `error: unknown option '--x'\n(Did you mean --y?)`. */
function usageError({ code, message }: CommanderError): GradusError {
  // What commander throws for a group of commands, such as `runs`, without one of them.
  if (code === 'commander.help') {
    return new GradusError('USAGE', 'this needs a command of its own', { hint: 'gradus help lists all commands' });
  }
  const [first, ...rest] = message.replace(/^error: /, '').split('\n');
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1') || 'gradus --help shows what there is';
  return new GradusError('USAGE', first!, { hint });
}
