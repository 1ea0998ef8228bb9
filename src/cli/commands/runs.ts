// gradus runs: what the run directories say.
import { Command } from 'commander';
import type { RunRecord } from '../../runs/records.ts';
import { table } from '../formatting.ts';
import type { Cli } from '../main.ts';
import { evaluationLine } from '../progress.ts';
import { sparkline } from '../sparkline.ts';

const listExamples = `Examples:
  gradus runs list
  gradus runs list --root elsewhere/runs --json
`;

const showExamples = `Examples:
  gradus runs show latest
  gradus runs show runs/small --json
`;

export function runsCommand(cli: Cli): Command {
  const runs = new Command('runs').description('the runs under runs/, and what became of them');
  runs
    .command('list')
    .description('all runs, the latest first')
    .option('--root <dir>', 'the directory that holds them', 'runs')
    .option('--json', 'one JSON object on stdout')
    .addHelpText('before', listExamples)
    .action(cli.action((flags: { root: string }) => listAll(cli, flags.root)));
  runs
    .command('show')
    .description('how a run fared')
    .argument('<run>', 'a run directory, the name of a run, or latest')
    .option('--json', 'one JSON object on stdout')
    .addHelpText('before', showExamples)
    .action(cli.action((run: string) => show(cli, run)));
  return runs;
}

async function listAll({ output }: Cli, root: string) {
  const { listRuns } = await import('../../runs/read-run.ts');
  const runs = listRuns(root).map(({ directory, record }) => ({ dir: directory, ...record }));
  const rows = runs.map((run) => [run.id, run.status, `step ${run.step}/${run.max_steps}`, run.started]);
  const text = rows.length > 0 ? table(rows) : `no runs under ${root}/`;
  output.result({ ok: true, schema: 'runs.list.result/1', command: 'runs list', runs }, text);
  return undefined;
}

async function show({ output }: Cli, name: string) {
  const { findRun, readEvaluations, readMetrics, readRun, runArtifacts } = await import('../../runs/read-run.ts');
  const directory = findRun(name);
  const run = readRun(directory);
  const metrics = readMetrics(directory);
  const evals = readEvaluations(directory);
  const { step: _, ...last } = metrics.at(-1) ?? { step: 0 };
  const rewards = metrics.flatMap(({ reward }) => reward ?? []);
  output.result(
    {
      ok: true,
      schema: 'runs.show.result/1',
      command: 'runs show',
      run: { ...run, dir: directory },
      metrics: last,
      evals,
      artifacts: runArtifacts(directory),
    },
    [
      `${directory}: ${statusOf(run)}`,
      ...(rewards.length > 0 ? [`reward ${sparkline(rewards)} ${rewards.at(-1)!.toFixed(3)}`] : []),
      ...evals.map((record) => `step ${record.step}: ${evaluationLine(record)}`),
    ].join('\n'),
  );
  return undefined;
}

function statusOf({ status, step, max_steps, stop_reason, error }: RunRecord): string {
  const why = error?.message ?? stop_reason;
  return `${status} at step ${step} of ${max_steps}${why === undefined ? '' : `: ${why}`}`;
}
