// gradus env: checks an environment before a model plays it.
import { Command } from 'commander';
import type { EnvironmentCheck } from '../../checks/check-environment.ts';
import { threeDigits } from '../../checks/checks.ts';
import type { PlayerReport } from '../../checks/player-report.ts';
import { counted } from '../../common/counted.ts';
import { collect } from '../arguments.ts';
import { checkError, checkLines } from '../check-lines.ts';
import type { Cli } from '../cli.ts';
import { table } from '../formatting.ts';

const EXAMPLES = `Examples:
  gradus env check envs/hotel.ts:HotelEnv
  gradus env check envs/hotel.ts:HotelEnv --config '{"difficulty": "hard"}' --json
  gradus env check envs/hotel.ts:HotelEnv --config grpo.yaml
  gradus env check --config grpo.yaml          the environment that it names, and its data, rewards and limits

Plays right answers, which must score 1, empty answers, random text and malformed tool calls, and reports their scores,
how the episodes end, and any exceptions. The right answers are the environment's gold(example), or the answer column.
`;

interface CheckFlags {
  readonly config?: string;
  readonly set: readonly string[];
  readonly input?: string;
  readonly n: number;
}

export function envCommand(cli: Cli): Command {
  const env = new Command('env').description('work with environments: multi-turn tasks');
  env
    .command('check')
    .description('play an environment without a model: with right and empty answers, random text, malformed tool calls')
    .argument('[file:name]', 'the environment; not needed if a configuration names it')
    .option('--config <settings>', 'its settings as a JSON object, or a configuration file (YAML or JSON)')
    .option('--set <key=value>', 'override a key of the configuration; the value is YAML (repeatable)', collect, [])
    .option('--input <file>', 'a data set of problems, if the environment has none')
    .option('--n <rows>', 'number of problems to play', Number, 16)
    .option('--json', 'print one JSON object on stdout')
    .addHelpText('before', EXAMPLES)
    .action(cli.action((reference: string | undefined, flags: CheckFlags) => runCheck(cli, reference, flags)));
  return env;
}

async function runCheck({ output }: Cli, reference: string | undefined, { config, set, input, n }: CheckFlags) {
  const { checkEnvironment } = await import('../../checks/check-environment.ts');
  const { environmentConfig } = await import('../../user-code/environments/environment-config.ts');
  const result = await checkEnvironment(
    environmentConfig({
      settings: set,
      ...(reference !== undefined && { reference }),
      ...(config !== undefined && { config }),
      ...(input !== undefined && { dataset: input }),
    }),
    n,
  );
  const error = checkError('ENVIRONMENT_CHECK_FAILED', result.checks);
  const envelope = { ok: !error, schema: 'env.check.result/1', command: 'env check' };
  return output.outcome(
    { ...envelope, ...result, ...(error && { error }) },
    summary(output.suggested(result)),
    error ? 2 : 0,
  );
}

function summary({ rows, players, checks }: EnvironmentCheck): string {
  return [
    counted(rows, 'problem'),
    table(Object.entries(players).map(([name, report]) => [name, ...playerCells(report)])),
    ...Object.entries(players).flatMap(([name, { errors }]) =>
      errors.map(({ message, count }) => `${name}: ${count} × ${message}`),
    ),
    ...checkLines(checks),
  ].join('\n');
}

function playerCells({ episodes, score, rewards, stop_reasons, turns }: PlayerReport): string[] {
  const parts = Object.entries(rewards).map(([name, value]) => `${name} ${threeDigits(value)}`);
  const ends = Object.entries(stop_reasons).map(([reason, count]) => `${count} ${reason}`);
  return [
    counted(episodes, 'episode'),
    score === null ? 'no score' : `score ${threeDigits(score)}`,
    parts.join(', '),
    `${threeDigits(turns)} turns`,
    ends.join(', '),
  ];
}
