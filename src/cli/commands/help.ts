// gradus help: the help of a command, or a topic.
import { Command } from 'commander';
import { GradusError } from '../../errors.ts';
import { existingNames } from '../../nearest.ts';
import { exitCodes } from '../exit-codes.ts';
import { table } from '../formatting.ts';
import type { Cli } from '../main.ts';

export function helpCommand(cli: Cli): Command {
  const command = new Command('help')
    .description('help on a command, or on exit-codes')
    .argument('[topic]', 'a command, or exit-codes')
    .option('--json', 'one JSON object on stdout')
    .action(cli.action((topic?: string) => showHelp(cli, command.parent!, topic)));
  return command;
}

function showHelp({ output }: Cli, program: Command, topic: string | undefined): undefined {
  if (topic === 'exit-codes') {
    const rows = exitCodes.map(({ code, meaning }) => [String(code), meaning]);
    output.result({ ok: true, schema: 'help.result/1', command: 'help', exit_codes: exitCodes }, table(rows));
    return;
  }
  const subject = topic === undefined ? program : program.commands.find((command) => command.name() === topic);
  if (subject) return void subject.outputHelp();
  const topics = [...program.commands.map((command) => command.name()), 'exit-codes'];
  throw new GradusError('USAGE', `there is no help on ${topic}`, { hint: existingNames(topic!, topics) });
}
