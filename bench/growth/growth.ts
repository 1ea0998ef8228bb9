// How a step's time grows: with twice the completions, twice the prompt (read once for all or for each), and a second thread.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { count } from '../flags.ts';
import { inTurn, jsonLines, machine, modelsFolder, smollm2, table } from '../peers.ts';
import { type SequenceSizes, sequences } from '../sequences.ts';
import type { StepTask, StepTimes } from '../step-worker.ts';
import { median, watched } from '../watched.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    prompt: { type: 'string', default: '256' },
    generations: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '64' },
    models: { type: 'string', default: modelsFolder },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'growth' ? process.argv.slice(3) : [],
});

const usage = 'node bench/main.ts growth [--rounds N] [--prompt TOKENS] [--generations N] [--tokens N] [--models DIR]';

interface Point extends SequenceSizes {
  readonly threads: number;
}

const threads = availableParallelism();
const [prompt, generations, tokens] = [count(flags, 'prompt'), count(flags, 'generations'), count(flags, 'tokens')];
const base: Point = { prompt, generations, tokens, shared: true, threads };
const points = {
  'half as many completions': { ...base, generations: generations / 2 },
  base,
  'prompt twice as long': { ...base, prompt: 2 * prompt },
  'a prompt for each completion': { ...base, shared: false },
  'each of these prompts twice as long': { ...base, shared: false, prompt: 2 * prompt },
  '1 thread': { ...base, threads: 1 },
  '2 threads': { ...base, threads: 2 },
} satisfies Record<string, Point>;

export async function benchmarkGrowth(): Promise<void> {
  if (flags.help) return console.log(usage);
  const model = smollm2(flags.models);
  const run = (point: Point) => async (): Promise<StepTimes> => {
    const task: StepTask = {
      model,
      rolloutDtype: 'float32',
      threads: point.threads,
      repeats: 1,
      sequences: sequences(point),
    };
    const worker = join(import.meta.dirname, '..', 'step-worker.ts');
    const { output } = await watched(process.execPath, [worker, JSON.stringify(task)]);
    return jsonLines<StepTimes>(output)[0]!;
  };
  const runs = Object.fromEntries(Object.entries(points).map(([name, point]) => [name, run(point)]));
  const step = ({ sample, update }: StepTimes) => sample + update;
  const measured = await inTurn(count(flags, 'rounds'), runs, (times) => `${step(times).toFixed(2)} s`);
  const medianOf = (name: string, part: (times: StepTimes) => number) => median(measured.get(name)!.map(part));
  const seconds = (name: keyof typeof points) => medianOf(name, step);
  console.log(
    `${machine}; base: 1 prompt of ${prompt} tokens × ${generations} completions × ${tokens}, medians of ${flags.rounds}\n`,
  );
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
  const longer = seconds('prompt twice as long') - seconds('base');
  const longerUnshared = seconds('each of these prompts twice as long') - seconds('a prompt for each completion');
  const products = medianOf('1 thread', (times) => times.products) / medianOf('2 threads', (times) => times.products);
  const ratios = {
    'time / with half as many completions': seconds('base') / seconds('half as many completions'),
    'what twice the prompt adds / unshared': longer / longerUnshared,
    'throughput with 2 threads / with 1': seconds('1 thread') / seconds('2 threads'),
    'the same of ONNX Runtime’s products alone': products,
  };
  console.log(
    table(
      ['', 'ratio'],
      Object.entries(ratios).map(([name, ratio]) => [name, ratio.toFixed(2)]),
    ),
  );
}
