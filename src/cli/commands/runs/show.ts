// gradus runs show: shows the results of a run, or its card.
import { Command } from 'commander';
import type { RunRecord, TrackedPlaceRecord } from '../../../runs/records.ts';
import { alertLine } from '../../alert-line.ts';
import type { Cli } from '../../cli.ts';
import { evaluationLine } from '../../progress.ts';
import { rewardLine } from '../../reward-line.ts';
import { runArgument } from './run-argument.ts';

const EXAMPLES = `Examples:
  gradus runs show latest
  gradus runs show small --json
  gradus runs show small --card > card.md      data, rewards, configuration, results, in Markdown
`;

export function showCommand(cli: Cli): Command {
  return new Command('show')
    .description('show the state of a run: status, rewards, evaluations, verdict, alerts')
    .argument(...runArgument)
    .option('--card', 'print a card of the run in Markdown: data, rewards, configuration, versions, results')
    .option('--json', 'print one JSON object on stdout')
    .addHelpText('before', EXAMPLES)
    .action(cli.action((run: string, flags: { card?: boolean }) => show(cli, run, flags.card ?? false)));
}

async function show({ output }: Cli, name: string, withCard: boolean) {
  const { findRun, runArtifacts } = await import('../../../runs/read-run.ts');
  const { inspectRun } = await import('../../../studio/finished-runs/inspect-run.ts');
  const { runCard } = await import('../../../studio/finished-runs/run-card.ts');
  const run = inspectRun(findRun(name));
  const { directory, record, metrics, evaluations, verdict, alerts } = run;
  const { step: _, ...last } = metrics.at(-1) ?? { step: 0 };
  const card = withCard ? runCard(run) : undefined;
  const lines = [
    `${directory}: ${statusOf(record)}`,
    `reward: ${rewardLine(metrics)}`,
    ...evaluations.map((evaluation) => `step ${evaluation.step}: ${evaluationLine(evaluation)}`),
    `verdict: ${verdict.learning}, ${verdict.reason}`,
    ...alerts.map(alertLine),
    ...Object.entries(record.trackers ?? {}).map(trackerLine),
  ];
  output.result(
    {
      ok: true,
      schema: 'runs.show.result/1',
      command: 'runs show',
      run: { ...record, dir: directory },
      metrics: last,
      evals: evaluations,
      verdict,
      alerts,
      artifacts: runArtifacts(directory),
      ...(card !== undefined && { card }),
    },
    card ?? lines.join('\n'),
  );
  return undefined;
}

function trackerLine([name, { url, fault }]: [string, TrackedPlaceRecord]): string {
  return `${name}: ${url}${fault === undefined ? '' : `, which lacks something: ${fault}`}`;
}

function statusOf({ status, step, max_steps, stop_reason, error }: RunRecord): string {
  const gone = status === 'interrupted' ? 'its process is gone; train --resume goes on' : undefined;
  const why = error?.message ?? stop_reason ?? gone;
  return `${status} at step ${step} of ${max_steps}${why === undefined ? '' : `: ${why}`}`;
}
