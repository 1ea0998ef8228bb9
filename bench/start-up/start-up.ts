// How long it takes until SmolLM2 can sample and learn, and until a command that needs no model has answered.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { count } from '../flags.ts';
import { inTurn, jsonLines, machine, modelsFolder, root, smollm2, table } from '../peers.ts';
import { median, watched } from '../watched.ts';
import type { StartUpTimes } from './gradus-worker.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    models: { type: 'string', default: modelsFolder },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'start-up' ? process.argv.slice(3) : [],
});

const parts = ['modules', 'weights', 'sampling', 'training'] as const;
const commands = [['--help'], ['doctor', '--json'], ['train', 'configs/toy-grpo.yaml', '--dry-run', '--json']];

export async function benchmarkStartUp(): Promise<void> {
  if (flags.help) return console.log('node bench/main.ts start-up [--rounds N] [--models DIR]');
  const model = smollm2(flags.models);
  const worker = join(import.meta.dirname, 'gradus-worker.ts');
  const open = (dtype: string) => async () => {
    const { output } = await watched(process.execPath, [worker, model, dtype]);
    return jsonLines<StartUpTimes>(output)[0]!;
  };
  const total = (times: StartUpTimes) => parts.reduce((sum, part) => sum + times[part], 0);
  const rounds = count(flags, 'rounds');
  const dtypes = Object.fromEntries(['float32', 'int8', 'int4'].map((dtype) => [dtype, open(dtype)]));
  const opened = await inTurn(rounds, dtypes, (times) => `${total(times).toFixed(2)} s`);
  const runs = Object.fromEntries(commands.map((args) => [`gradus ${args.join(' ')}`, () => answer(args)]));
  for (const run of Object.values(runs)) await run(); // fills Node's cache of compiled code
  const answered = await inTurn(rounds, runs, (seconds) => `${seconds.toFixed(2)} s`);

  console.log(`${machine}; medians of ${flags.rounds}, in seconds\n`);
  console.log(
    table(
      ['rollouts', ...parts, 'together'],
      [...opened].map(([dtype, times]) => [
        dtype,
        ...parts.map((part) => median(times.map((each) => each[part])).toFixed(2)),
        median(times.map(total)).toFixed(2),
      ]),
    ),
  );
  console.log(
    table(
      ['command', 's'],
      [...answered].map(([name, seconds]) => [`\`${name}\``, median(seconds).toFixed(2)]),
    ),
  );
}

/** Seconds of a whole process. */
async function answer(args: readonly string[]): Promise<number> {
  const began = performance.now();
  await watched(process.execPath, [join(root, 'bin', 'gradus'), ...args]);
  return (performance.now() - began) / 1000;
}
