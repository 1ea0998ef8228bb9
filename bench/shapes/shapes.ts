// The time and memory of GRPO steps with LoRA for models shaped like Qwen2.5-0.5B or Qwen3.5-0.8B, with random weights.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rolloutDtypes } from '../../src/config/sections.ts';
import { chosen, count, one } from '../flags.ts';
import { qwen2, qwen35, writeRandomModel } from '../random-model.ts';
import { median, watched } from '../watched.ts';

const root = join(import.meta.dirname, '..', '..');

const { values: flags } = parseArgs({
  options: {
    steps: { type: 'string', default: '5' },
    prompts: { type: 'string', default: '1' },
    generations: { type: 'string', default: '8' },
    tokens: { type: 'string', default: '64' },
    shape: { type: 'string', default: 'qwen2.5-0.5b' },
    dtypes: { type: 'string', default: 'float32,int8,int4' },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'shapes' ? process.argv.slice(3) : [],
});

export async function benchmarkShapes(): Promise<void> {
  if (flags.help)
    return console.log(
      'node bench/main.ts shapes [--steps N] [--prompts N] [--generations N] [--tokens N] [--shape qwen2.5-0.5b|qwen3.5-0.8b] [--dtypes a,b]',
    );
  const folder = mkdtempSync(join(tmpdir(), 'gradus-shapes-'));
  try {
    const shape = one(flags, 'shape', ['qwen2.5-0.5b', 'qwen3.5-0.8b']);
    const model = writeRandomModel(join(folder, shape), shape === 'qwen3.5-0.8b' ? qwen35 : qwen2);
    const { prompts, generations, tokens, steps } = flags;
    const cores = `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores`;
    console.log(
      `${cores}; ${prompts} × ${generations} completions × ${tokens} tokens, medians of ${Number(steps) - 1} steps\n`,
    );
    console.log('| rollouts | s a step | sampling | update | peak GB |\n|---|---|---|---|---|');
    for (const dtype of chosen(flags, 'dtypes', rolloutDtypes)) console.log(await measure(folder, model, dtype));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A reward of alternating scores: a model with random weights is never right, but every group needs advantages. */
const alternating = 'export const alternating = ({ completions }) => completions.map((_, i) => i % 2);';

/** A row of the table. The first step, which compiles and warms up, is left out. */
async function measure(folder: string, model: string, rollout_dtype: string): Promise<string> {
  const rewards = join(folder, 'rewards.ts');
  const config = {
    model,
    chat_template: 'none',
    taskset: 'arithmetic',
    reward_fn: `${rewards}:alternating`,
    learning_rate: 1e-5,
    prompts_per_step: count(flags, 'prompts'),
    num_generations: count(flags, 'generations'),
    max_completion_length: count(flags, 'tokens'),
    max_steps: count(flags, 'steps'),
    lora: { r: 16, alpha: 32 },
    eval: null,
    save: { every_steps: null, best: null },
    sample_every_steps: null,
    native: { rollout_dtype },
  };
  writeFileSync(rewards, alternating);
  const [file, out] = [join(folder, `${rollout_dtype}.json`), join(folder, rollout_dtype)];
  writeFileSync(file, JSON.stringify(config));
  const command = [join(root, 'bin', 'gradus'), 'train', file, '--out', out, '--no-preflight', '--json'];
  const { peakBytes } = await watched(process.execPath, command);
  const timings = readFileSync(join(out, 'timings.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line));
  const seconds = (name: string) =>
    median(timings.map((timing: Record<string, number>) => timing[name] ?? 0)).toFixed(2);
  const parts = ['step_time', 'time/generate', 'time/update'].map(seconds);
  return `| ${[rollout_dtype, ...parts, (peakBytes / 1e9).toFixed(2)].join(' | ')} |`;
}
