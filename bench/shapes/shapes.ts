// GRPO steps with LoRA of a model of Qwen2.5-0.5B's shape whose weights are random: what a step takes, in time and memory, without the model.
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { characterTokenizerJson } from '../../demo/character-tokenizer.ts';
import { randomStream } from '../../src/common/random.ts';
import { bfloat16 } from '../../src/formats/element-types.ts';
import { safetensorsHeader } from '../../src/formats/safetensors.ts';
import { architectureOf } from '../../src/models/families.ts';
import { volume } from '../../src/tensor/shape.ts';
import { median, watched } from '../watched.ts';

const root = join(import.meta.dirname, '..', '..');

/** The config.json of Qwen/Qwen2.5-0.5B-Instruct, as far as it decides what is computed. */
const qwen2 = {
  model_type: 'qwen2',
  architectures: ['Qwen2ForCausalLM'],
  hidden_act: 'silu',
  tie_word_embeddings: true,
  hidden_size: 896,
  intermediate_size: 4864,
  num_hidden_layers: 24,
  num_attention_heads: 14,
  num_key_value_heads: 2,
  vocab_size: 151_936,
  max_position_embeddings: 32_768,
  rope_theta: 1e6,
  rms_norm_eps: 1e-6,
  eos_token_id: 2,
};

const { values: flags } = parseArgs({
  options: {
    steps: { type: 'string', default: '5' },
    prompts: { type: 'string', default: '1' },
    generations: { type: 'string', default: '8' },
    tokens: { type: 'string', default: '64' },
    help: { type: 'boolean', default: false },
  },
  args: process.argv[2] === 'shapes' ? process.argv.slice(3) : [],
});

export async function benchmarkShapes(): Promise<void> {
  if (flags.help)
    return console.log('node bench/main.ts shapes [--steps N] [--prompts N] [--generations N] [--tokens N]');
  const folder = mkdtempSync(join(tmpdir(), 'gradus-shapes-'));
  try {
    const model = writeRandomModel(join(folder, 'qwen2.5-0.5b'), qwen2);
    const { prompts, generations, tokens, steps } = flags;
    const cores = `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores`;
    console.log(
      `${cores}; ${prompts} × ${generations} completions × ${tokens} tokens, medians of ${Number(steps) - 1} steps\n`,
    );
    console.log('| rollouts | s a step | sampling | update | peak GB |\n|---|---|---|---|---|');
    for (const dtype of ['float32', 'int8', 'int4']) console.log(await measure(folder, model, dtype));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const drawn = (count: number, draw: () => number) => bfloat16.encode(Float32Array.from({ length: count }, draw));

/** Writes weights of mean 0 and deviation 0.02 in bfloat16, and a tokenizer of single characters. */
function writeRandomModel(folder: string, json: Readonly<Record<string, unknown>>): string {
  const { parameters } = architectureOf(json);
  mkdirSync(folder);
  const write = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value));
  write('config.json', json);
  write(
    'tokenizer.json',
    characterTokenizerJson('0123456789+-*= ?.,:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', [
      '<unk>',
      '<s>',
      '</s>',
    ]),
  );
  write('tokenizer_config.json', { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' });
  const described = parameters.map((parameter) => ({ ...parameter, dtype: 'BF16' as const }));
  const { bytes, order } = safetensorsHeader(described, { format: 'pt' });
  const random = randomStream(0);
  const ones = drawn(1000, () => 1);
  // The same noise again and again, since 494M numbers take minutes to draw. Its length is prime, so that no two rows are alike.
  const noise = drawn(1_048_573, () => 0.02 * random.normal());
  const file = openSync(join(folder, 'model.safetensors'), 'w');
  writeSync(file, bytes);
  for (const { shape, kind } of order) {
    const block = kind === 'norm' ? ones : noise;
    for (let left = 2 * volume(shape); left > 0; left -= block.length) {
      writeSync(file, block.subarray(0, Math.min(left, block.length)));
    }
  }
  closeSync(file);
  return folder;
}

/** A reward of alternating scores: what random weights say is never right, but every group has to teach something. */
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
    prompts_per_step: Number(flags.prompts),
    num_generations: Number(flags.generations),
    max_completion_length: Number(flags.tokens),
    max_steps: Number(flags.steps),
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
