// How a step's time grows: with twice the completions, twice the prompt (read once for all or for each), and a second thread.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { inTurn, jsonLines, machine, modelsFolder, smollm2, table } from '../peers.ts';
import { type SequenceSizes, sequences } from '../sequences.ts';
import type { StepTask, StepTimes } from '../step-worker.ts';
import { median, watched } from '../watched.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    models: { type: 'string', default: modelsFolder },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'growth' ? process.argv.slice(3) : [],
});

interface Point extends SequenceSizes {
  readonly threads: number;
}

const threads = availableParallelism();
const base: Point = { prompt: 256, generations: 16, tokens: 64, shared: true, threads };
const points = {
  '8 completions': { ...base, generations: 8 },
  '16 completions, prompt of 256': base,
  '16 completions, prompt of 512': { ...base, prompt: 512 },
  '16 completions, prompts of 256 of their own': { ...base, shared: false },
  '16 completions, prompts of 512 of their own': { ...base, prompt: 512, shared: false },
  '16 completions, 1 thread': { ...base, threads: 1 },
  '16 completions, 2 threads': { ...base, threads: 2 },
} satisfies Record<string, Point>;

export async function benchmarkGrowth(): Promise<void> {
  if (flags.help) return console.log('node bench/main.ts growth [--rounds N] [--models DIR]');
  const model = smollm2(flags.models);
  const run = (point: Point) => async (): Promise<StepTimes> => {
    const task: StepTask = {
      ...{ model, rolloutDtype: 'float32', threads: point.threads, repeats: 1 },
      sequences: sequences(point),
    };
    const worker = join(import.meta.dirname, '..', 'step-worker.ts');
    const { output } = await watched(process.execPath, [worker, JSON.stringify(task)]);
    return jsonLines<StepTimes>(output)[0]!;
  };
  const runs = Object.fromEntries(Object.entries(points).map(([name, point]) => [name, run(point)]));
  const step = ({ sample, update }: StepTimes) => sample + update;
  const measured = await inTurn(Number(flags.rounds), runs, (times) => `${step(times).toFixed(2)} s`);
  const medianOf = (name: string, part: (times: StepTimes) => number) => median(measured.get(name)!.map(part));
  const seconds = (name: keyof typeof points) => medianOf(name, step);
  console.log(`${machine}; completions of ${base.tokens} tokens, medians of ${flags.rounds}\n`);
  console.log(
    table(
      ['a step', 's', 'sampling', 'update'],
      [...measured.keys()].map((name) => [
        name,
        ...[step, (times: StepTimes) => times.sample, (times: StepTimes) => times.update].map((part) =>
          medianOf(name, part).toFixed(2),
        ),
      ]),
    ),
  );
  const longer = seconds('16 completions, prompt of 512') - seconds('16 completions, prompt of 256');
  const longerUnshared =
    seconds('16 completions, prompts of 512 of their own') - seconds('16 completions, prompts of 256 of their own');
  const [one, two] = ['16 completions, 1 thread', '16 completions, 2 threads'] as const;
  const products = medianOf(one, (times) => times.products) / medianOf(two, (times) => times.products);
  const ratios = {
    'time with 16 completions / with 8': seconds('16 completions, prompt of 256') / seconds('8 completions'),
    'what 256 more tokens of the prompt add / unshared': longer / longerUnshared,
    'throughput with 2 threads / with 1': seconds(one) / seconds(two),
    'the same of ONNX Runtime’s products alone': products,
  };
  console.log(
    table(
      ['', 'ratio'],
      Object.entries(ratios).map(([name, ratio]) => [name, ratio.toFixed(2)]),
    ),
  );
}
