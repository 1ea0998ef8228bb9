// gradus train: trains as a configuration says.
import { Command } from 'commander';
import type { TrainResult } from '../../studio/train-result.ts';
import { collect, given } from '../arguments.ts';
import { ofSignal, type StopSignal } from '../exit-codes.ts';
import { duration, interval95 } from '../formatting.ts';
import type { Cli } from '../main.ts';
import { Progress } from '../progress.ts';
import { withStopSignals } from '../signals.ts';

const examples = `Examples:
  gradus train grpo.yaml
  gradus train grpo.yaml --set learning_rate=1e-4 --set lora.r=8 --name warmer
  gradus train grpo.yaml --resume --set max_steps=200
  gradus train grpo.yaml --json > result.json
`;

interface TrainFlags {
  readonly set: readonly string[];
  readonly name?: string;
  readonly out?: string;
  readonly resume?: boolean;
  readonly overwrite?: boolean;
}

export function trainCommand(cli: Cli): Command {
  return new Command('train')
    .description('train as a configuration says, into a run directory of its own')
    .argument('<config>', 'a YAML or JSON file')
    .option('--set <key=value>', 'change the configuration; VALUE is YAML (repeatable)', collect, [])
    .option('--name <name>', 'the run is runs/NAME (default: the name of the config file)')
    .option('--out <dir>', 'the run directory itself')
    .option('--resume', 'go on from the latest checkpoint of the run that is there')
    .option('--overwrite', 'replace the run that is there')
    .option('--json', 'one JSON object on stdout')
    .option('--events', 'one JSON object a line on stdout while it goes on; the last is the result')
    .addHelpText('before', examples)
    .action(cli.action((config: string, flags: TrainFlags) => runTraining(cli, config, flags)));
}

async function runTraining({ output }: Cli, config: string, { set, name, out, resume, overwrite }: TrainFlags) {
  const { train } = await import('../../studio/train.ts');
  const progress = new Progress(output);
  const started = performance.now();
  try {
    return await withStopSignals(async (signal) => {
      const result = await train(config, {
        ...given({ name, out, resume, overwrite }),
        settings: set,
        signal,
        onEvent(event) {
          output.event(event);
          progress.show(event);
        },
      });
      progress.close();
      const exit_code = result.ok ? 0 : ofSignal[String(signal.reason) as StopSignal];
      output.result(
        result.ok ? result : { ...result, exit_code },
        trainSummary(result, (performance.now() - started) / 1000),
      );
      return exit_code;
    });
  } finally {
    progress.close();
  }
}

export function trainSummary(
  { run, metrics, evals, verdict, alerts, next, error }: TrainResult,
  seconds: number,
): string {
  const last = evals.at(-1);
  const before = metrics.random_baseline;
  const after = metrics.final_success_rate;
  const interval = interval95(last?.intervals['eval/sampled_accuracy']);
  return [
    `${run.dir}: ${run.status} at step ${run.step} after ${duration(seconds)}`,
    ...(metrics.mean_reward === undefined
      ? []
      : [`mean reward of the last 10 steps: ${metrics.mean_reward.toFixed(3)}`]),
    ...(after === undefined
      ? []
      : [`held-out accuracy: ${before === undefined ? '' : `${before.toFixed(2)} → `}${after.toFixed(2)} ${interval}`]),
    `verdict: ${verdict.learning}, ${verdict.reason}`,
    ...alerts.map(({ level, rule, text }) => `${level} ${rule}: ${text}`),
    ...(error ? [error.hint] : next.map((command) => `next: ${command}`)),
  ].join('\n');
}
