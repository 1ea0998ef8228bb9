// gradus runs list: lists all runs, the latest first.
import { Command } from 'commander';
import { counted } from '../../../common/counted.ts';
import { messageOf } from '../../../errors.ts';
import type { RunSummary } from '../../../finished-runs/comparison-schema.ts';
import type { Cli } from '../../cli.ts';
import { oneLine, table } from '../../formatting.ts';

const EXAMPLES = `Examples:
  gradus runs list
  gradus runs list --root elsewhere/runs --json
`;

export function listCommand(cli: Cli): Command {
  return new Command('list')
    .description('list all runs, latest first: status, first and last rewards, alerts')
    .option('--root <dir>', 'the directory that contains the runs', 'runs')
    .option('--json', 'print one JSON object on stdout')
    .addHelpText('before', EXAMPLES)
    .action(cli.action((flags: { root: string }) => listAll(cli, flags.root)));
}

async function listAll({ output }: Cli, root: string) {
  const { listRuns } = await import('../../../runs/read-run.ts');
  const { inspectRun, summarizeRun } = await import('../../../finished-runs/inspect-run.ts');
  const damaged: { dir: string; message: string }[] = [];
  const onDamaged = (dir: string, error: unknown) => damaged.push({ dir, message: messageOf(error) });
  const runs = listRuns(root, onDamaged).flatMap(({ directory }) => {
    try {
      const summary = summarizeRun(inspectRun(directory));
      return [{ summary, row: row(summary) }];
    } catch (error) {
      onDamaged(directory, error);
      return [];
    }
  });
  for (const { dir, message } of damaged) output.note(`left out: ${message.includes(dir) ? '' : `${dir}: `}${message}`);
  const text = runs.length > 0 ? table([header, ...runs.map(({ row }) => row)]) : `no runs under ${root}/`;
  const result = {
    ok: true,
    schema: 'runs.list.result/1',
    command: 'runs list',
    runs: runs.map(({ summary }) => summary),
  };
  output.result({ ...result, ...(damaged.length > 0 && { damaged }) }, text);
  return undefined;
}

const header = ['run', 'status', 'step', 'model', 'reward', 'accuracy', 'learning', 'alerts', 'started (UTC)'];

function row({ id, status, step, max_steps, model, reward, verdict, alerts, started }: RunSummary): string[] {
  const found = Object.entries(alerts).filter(([, count]) => count > 0);
  const accuracy = verdict?.held_out;
  return [
    id,
    status,
    `${step}/${max_steps}`,
    oneLine(model?.split('/').at(-1) ?? '', 30),
    reward ? `${reward.before.toFixed(3)} → ${reward.after.toFixed(3)}` : '',
    accuracy ? `${accuracy.before.toFixed(2)} → ${accuracy.after.toFixed(2)}` : '',
    verdict?.learning ?? '',
    found.map(([level, count]) => (level === 'info' ? `${count} info` : counted(count, level))).join(', '),
    started.slice(0, 16).replace('T', ' '),
  ];
}
