// One configuration under several engines, from the same weights and seeds: is what they reach on held-out problems the same?
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bootstrapInterval, type EvaluationRecord, readEvaluations, readMetrics, train } from '../../src/index.ts';
import { mean } from '../../src/intervals.ts';
import { runFiles } from '../../src/runs/layout.ts';
import { isFinished, signed } from '../learnt.ts';
import { huggingFaceFolder, jsonLines, modelsFolder, preparePython, python, root, smollm2, table } from '../peers.ts';
import { median } from '../watched.ts';

const configuration = join(root, 'configs', 'arithmetic-smollm2.yaml');
const results = join(root, 'results', 'engines');
const cache = join(root, '.cache', 'engines');

/** Two engines reach the same where the 95 % interval of the difference lies within ± this. */
const margin = 0.05;

const engines: Readonly<Record<string, readonly string[]>> = {
  native: ['backend=native'],
  int8: ['backend=native', 'native.rollout_dtype=int8'],
  // Half of a step's completions at once, for less memory; the gradient is the same.
  trl: ['backend=trl', 'trl.per_device_train_batch_size=16'],
};
const [reference] = Object.keys(engines) as [string];

/** So that the end says more: no last step that decides where a swing ends, and more samples of each held-out problem. */
const settled = ['lr_scheduler_type=linear', 'eval={every_steps: null, limit: 64, k: [1, 8]}'];

const { values: flags } = parseArgs({
  options: {
    engines: { type: 'string', default: Object.keys(engines).join() },
    seeds: { type: 'string', default: '3' },
    models: { type: 'string', default: modelsFolder },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'engines' ? process.argv.slice(3) : [],
});

const usage = `node bench/main.ts engines [--engines ${flags.engines}] [--seeds N] [--models DIR]
  Runs lie in .cache/engines; those that are finished are not run again. --models is the folder that holds smollm2-135m-instruct.`;

export async function benchmarkEngines(): Promise<void> {
  if (flags.help) return console.log(usage);
  preparePython();
  process.env.GRADUS_TRL_PYTHON = python;
  const model = huggingFaceFolder(smollm2(flags.models), 'float32');
  for (let seed = 0; seed < Number(flags.seeds); seed++) {
    for (const engine of flags.engines.split(',')) {
      const out = directory(engine, seed);
      if (isFinished(out)) continue;
      const settings = [...engines[engine]!, `model=${model}`, `seed=${seed}`, ...settled];
      const { verdict } = await train(configuration, { out, settings, overwrite: true, preflight: false });
      console.error(`${engine} ${seed}: ${verdict.reason}`);
    }
  }
  write(Object.keys(engines).flatMap((engine) => runsOf(engine)));
}

interface Run {
  readonly engine: string;
  readonly seed: number;
  readonly before: EvaluationRecord;
  readonly after: EvaluationRecord;
  /** Mean reward of each step. */
  readonly rewards: readonly number[];
  /** Median of its steps. */
  readonly stepSeconds: number;
}

function directory(engine: string, seed: number): string {
  return join(cache, `${engine}-${seed}`);
}

function runsOf(engine: string): Run[] {
  const seeds = Array.from({ length: Number(flags.seeds) }, (_, seed) => seed);
  return seeds
    .filter((seed) => isFinished(directory(engine, seed)))
    .map((seed) => {
      const out = directory(engine, seed);
      const evaluations = readEvaluations(out);
      const timings = jsonLines<{ step_time: number }>(readFileSync(join(out, runFiles.timings), 'utf8'));
      return {
        ...{ engine, seed, before: evaluations[0]!, after: evaluations.at(-1)! },
        rewards: readMetrics(out).map(({ reward }) => reward as number),
        stepSeconds: median(timings.map(({ step_time }) => step_time)),
      };
    });
}

function write(runs: readonly Run[]): void {
  mkdirSync(results, { recursive: true });
  const lines = runs.map(({ engine, seed, before, after, rewards }) => ({
    ...{ engine, seed, rewards },
    evaluations: [before, after].map(({ step, problems, metrics, intervals }) => ({
      step,
      problems,
      metrics,
      intervals,
    })),
  }));
  writeFileSync(join(results, 'runs.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const report = `${table(runHeader, runs.map(runRow))}\n${table(sameHeader, comparisons(runs))}`;
  const readme = join(results, 'README.md');
  const between = /(<!-- tables -->\n).*(<!-- end of tables -->)/s;
  writeFileSync(
    readme,
    readFileSync(readme, 'utf8').replace(between, (_, start, end) => `${start}${report}${end}`),
  );
  console.log(report);
}

const runHeader = [
  'engine',
  'seed',
  'sampled, before',
  'sampled, after',
  'likeliest tokens, before → after',
  's a step',
];

function runRow({ engine, seed, before, after, stepSeconds }: Run): string[] {
  const sampled = ({ metrics, intervals }: EvaluationRecord) => {
    const [low, high] = intervals['eval/sampled_accuracy']!;
    return `${metrics['eval/sampled_accuracy']!.toFixed(3)} (${low.toFixed(2)}–${high.toFixed(2)})`;
  };
  const greedy = [before, after].map(({ metrics }) => metrics['eval/accuracy']!.toFixed(2)).join(' → ');
  return [engine, String(seed), sampled(before), sampled(after), greedy, stepSeconds.toFixed(1)];
}

const sameHeader = ['engine', 'seeds', 'mean, after', `less ${reference}’s (95 %)`, `within ±${margin}`];

/** Each engine against the first, over the seeds that both have: problem by problem, for a seed has the same in the same order everywhere. */
function comparisons(runs: readonly Run[]): string[][] {
  const of = (name: string) => runs.filter(({ engine }) => engine === name);
  return Object.keys(engines).map((engine) => {
    const after = of(engine).map(({ after }) => after.metrics['eval/sampled_accuracy']!);
    const named = [engine, String(after.length), after.length > 0 ? mean(after).toFixed(3) : ''];
    const differences = of(engine).flatMap(({ seed, after }) => {
      const other = of(reference).find((run) => run.seed === seed);
      return other ? after.per_problem.map((value, i) => value! - other.after.per_problem[i]!) : [];
    });
    if (engine === reference || differences.length === 0) return [...named, '', ''];
    const [low, high] = bootstrapInterval(differences);
    const interval = `${signed(mean(differences), 3)} (${signed(low, 3)} to ${signed(high, 3)})`;
    return [...named, interval, -margin < low && high < margin ? 'yes' : 'no'];
  });
}
