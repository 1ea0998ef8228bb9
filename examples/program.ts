// A run without files: rows, rewards and the configuration are values of this program. It learns the carries of two-digit sums.
//
//   node examples/program.ts [--steps 60]
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { evaluate, type ProgramConfig, type RewardFunction, train } from '../src/index.ts';
import { printErrorsInOneLine } from './shared/errors-in-one-line.ts';

printErrorsInOneLine();
const { values: flags } = parseArgs({ options: { steps: { type: 'string', default: '60' }, out: { type: 'string' } } });

const numbers = Array.from({ length: 90 }, (_, i) => i + 10);
const rows = numbers.flatMap((a) => numbers.map((b) => ({ question: `${a}+${b}=`, answer: String(a + b) })));

/** 1 for an answer with the right sum. */
const right: RewardFunction = ({ completions, columns }) =>
  completions.map((text, i) => Number(text.trim() === columns.answer![i]));

/** 1 for an answer with the right last digit, which needs no carry. */
const lastDigit: RewardFunction = ({ completions, columns }) =>
  completions.map((text, i) => Number(text.trim().at(-1) === String(columns.answer![i]).at(-1)));

const config: ProgramConfig = {
  model: join(import.meta.dirname, '../demo/model'),
  chat_template: 'none',
  dataset: rows,
  reward: [right, { name: lastDigit, weight: 0.2 }],
  num_generations: 16,
  prompts_per_step: 32,
  max_completion_length: 4,
  learning_rate: 1e-3,
  lora: null,
  max_steps: Number(flags.steps),
  eval: { limit: 200, every_steps: 20 },
};

const place = flags.out === undefined ? { name: 'program', overwrite: true } : { out: flags.out, overwrite: true };
const { run, verdict } = await train(config, {
  ...place,
  onEvent(event) {
    if (event.type === 'step') console.log(`step ${event.step}  reward ${event.metrics.reward?.toFixed(3)}`);
    if (event.type === 'evaluation') console.log(`held out: ${event.metrics['eval/accuracy']?.toFixed(3)} right`);
  },
});
console.log(`${verdict.learning}: ${verdict.reason}`);

const { evaluation } = await evaluate(run.dir, { config, k: [1, 8] });
console.log(`of 8 answers one is right: ${evaluation.metrics['eval/pass@8']?.toFixed(3)}`);
