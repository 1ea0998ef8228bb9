// GRPO steps of ours and of TRL on this machine's CPU, in alternation on the same task, model and sizes: medians, ratios, peak memory.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, watched } from '../watched.ts';

const root = join(import.meta.dirname, '..', '..');
const python = join(root, 'python', '.venv', 'bin', 'python');

interface Task {
  readonly name: string;
  readonly task: 'arithmetic' | 'gsm8k';
  readonly prompts: number;
  readonly generations: number;
  readonly tokens: number;
}

const tasks: readonly Task[] = [
  { name: 'GSM8K, 1 × 8 × 64 tokens', task: 'gsm8k', prompts: 1, generations: 8, tokens: 64 },
  { name: 'arithmetic, 4 × 8 × 24 tokens', task: 'arithmetic', prompts: 4, generations: 8, tokens: 24 },
];

/** What one run of one system took; the first step, which compiles and warms up, is left out. */
interface Measurement {
  readonly stepSeconds: readonly number[];
  readonly peakBytes: number;
}

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    steps: { type: 'string', default: '5' },
    models: { type: 'string', default: process.env.GRADUS_MODELS ?? join(root, '..', 'shared', 'models') },
    data: { type: 'string', default: join(root, '..', 'shared', 'data', 'gsm8k') },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'vs-trl' ? process.argv.slice(3) : [],
});

const usage = `node bench/main.ts vs-trl [--rounds N] [--steps N] [--models DIR] [--data DIR]
  --models  the folder that holds smollm2-135m-instruct; --data  the one with GSM8K's train.jsonl`;

export async function benchmarkVsTrl(): Promise<void> {
  if (flags.help) return console.log(usage);
  const gguf = join(flags.models, 'smollm2-135m-instruct');
  if (!existsSync(gguf)) throw new Error(`${gguf} is missing; name the folder that holds it with --models`);
  execFileSync(join(root, 'python', 'setup.sh'), { stdio: ['ignore', 'inherit', 'inherit'] });
  const folders = { bf16: hugFolder(gguf, 'bfloat16'), fp32: hugFolder(gguf, 'float32') };
  const systems: Record<string, (task: Task) => Promise<Measurement>> = {
    'gradus, float32 rollouts': (task) => runOurs(task, gguf, 'float32'),
    'gradus, int8 rollouts': (task) => runOurs(task, gguf, 'int8'),
    'TRL 1.16, bfloat16': (task) => runTrl(task, folders.bf16, 'bf16'),
    'TRL 1.16, float32': (task) => runTrl(task, folders.fp32, 'fp32'),
  };
  console.log(
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores; medians of ${flags.rounds} × ${Number(flags.steps) - 1} steps\n`,
  );
  for (const task of tasks) console.log(table(task, await measure(task, systems)));
}

/** Every system once a round, one after another, so that a machine that slows down slows all of them. */
async function measure(
  task: Task,
  systems: Record<string, (task: Task) => Promise<Measurement>>,
): Promise<Map<string, Measurement[]>> {
  const measured = new Map<string, Measurement[]>(Object.keys(systems).map((name) => [name, []]));
  for (let round = 0; round < Number(flags.rounds); round++) {
    for (const [name, run] of Object.entries(systems)) {
      const measurement = await run(task);
      measured.get(name)!.push(measurement);
      process.stderr.write(
        `${task.name}, round ${round + 1}: ${name} ${median(measurement.stepSeconds).toFixed(2)} s\n`,
      );
    }
  }
  return measured;
}

function table(task: Task, measured: ReadonlyMap<string, readonly Measurement[]>): string {
  const rows = [...measured].map(([name, runs]) => ({
    name,
    seconds: median(runs.flatMap(({ stepSeconds }) => stepSeconds)),
    peak: median(runs.map(({ peakBytes }) => peakBytes)),
  }));
  const peers = rows.filter(({ name }) => name.startsWith('TRL'));
  const fastest = Math.min(...peers.map(({ seconds }) => seconds));
  const leanest = Math.min(...peers.map(({ peak }) => peak));
  const line = ({ name, seconds, peak }: (typeof rows)[number]) =>
    `| ${name} | ${seconds.toFixed(2)} | ${(fastest / seconds).toFixed(2)} × | ${(peak / 1e9).toFixed(2)} | ${(peak / leanest).toFixed(2)} |`;
  return [
    `### ${task.name}\n`,
    '| system | s a step | faster than TRL’s faster | peak GB | of TRL’s leaner |',
    '|---|---|---|---|---|',
    ...rows.map(line),
    '',
  ].join('\n');
}

async function runOurs(
  { task, prompts, generations, tokens }: Task,
  model: string,
  rolloutDtype: string,
): Promise<Measurement> {
  const folder = mkdtempSync(join(tmpdir(), 'gradus-bench-'));
  const config = {
    model,
    ...(task === 'arithmetic' ? { taskset: 'arithmetic' } : { dataset: join(flags.data, 'train.jsonl') }),
    reward: 'numeric_match',
    prompts_per_step: prompts,
    num_generations: generations,
    max_completion_length: tokens,
    learning_rate: 2e-4,
    max_steps: Number(flags.steps),
    eval: null,
    save: { every_steps: null, best: null },
    sample_every_steps: null,
    native: { rollout_dtype: rolloutDtype },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  try {
    const out = join(folder, 'run');
    const { peakBytes } = await watched(process.execPath, [
      join(root, 'bin', 'gradus'),
      'train',
      join(folder, 'config.json'),
      '--out',
      out,
      '--no-preflight',
      '--json',
    ]);
    const timings = readFileSync(join(out, 'timings.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { step_time: number });
    return { stepSeconds: timings.slice(1).map(({ step_time }) => step_time), peakBytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runTrl(
  { task, prompts, generations, tokens }: Task,
  model: string,
  dtype: string,
): Promise<Measurement> {
  const sizes = {
    '--prompts-per-step': prompts,
    '--generations': generations,
    '--max-tokens': tokens,
    '--steps': flags.steps,
  };
  const args = [
    join(import.meta.dirname, 'trl_worker.py'),
    ...['--model', model, '--task', task, '--dtype', dtype, '--threads', String(availableParallelism())],
    ...(task === 'gsm8k' ? ['--data', join(flags.data, 'train.jsonl')] : []),
    ...Object.entries(sizes).flatMap(([flag, value]) => [flag, String(value)]),
  ];
  const { output, peakBytes } = await watched(python, args);
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { step?: number; step_s: number });
  return {
    stepSeconds: lines
      .filter(({ step }) => step !== undefined)
      .slice(1)
      .map(({ step_s }) => step_s),
    peakBytes,
  };
}

/** The folder that transformers reads, made once from the GGUF file. */
function hugFolder(gguf: string, dtype: 'bfloat16' | 'float32'): string {
  const folder = join(root, '.cache', 'vs-trl', dtype);
  if (!existsSync(join(folder, 'model.safetensors'))) {
    mkdirSync(folder, { recursive: true });
    execFileSync(python, [join(root, 'python', 'gguf_to_hf.py'), gguf, folder, dtype], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  }
  return folder;
}
