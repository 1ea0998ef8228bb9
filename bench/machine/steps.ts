// GRPO steps of a model with random weights, in the sizes of the comparison with TRL: each training in its own process.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConfigInput } from '../../src/config/schema.ts';
import { jsonLines } from '../peers.ts';
import { median } from '../watched.ts';

/** The sizes of a step. Prompts are as long as those of the comparison, in tokens. */
const cases = {
  a: { prompts: 1, generations: 8, tokens: 64, promptTokens: 110 },
  b: { prompts: 4, generations: 8, tokens: 24, promptTokens: 45 },
  c: { prompts: 2, generations: 16, tokens: 128, promptTokens: 110 },
  d: { prompts: 1, generations: 8, tokens: 64, promptTokens: 1024 },
} as const;

export type CaseName = keyof typeof cases;
export const caseNames = Object.keys(cases) as CaseName[];

export interface StepTimes {
  readonly case: CaseName;
  /** What is set for the engine. */
  readonly settings: ConfigInput;
  readonly step_seconds: number;
  readonly generated_tokens_per_second: number;
  readonly peak_bytes: number;
}

const STEPS = 4; // the first, which compiles and warms up, does not count

/** Gives every group advantages, whatever a model with random weights writes. */
const alternating = 'export const alternating = ({ completions }) => completions.map((_, i) => i % 2);';

interface StepFiles {
  readonly model: string;
  readonly data: string;
  readonly rewards: string;
}

/** The configuration of a case. @param settings what is set beside the case, of the engine */
export function stepConfig(name: CaseName, { model, data, rewards }: StepFiles, settings: ConfigInput): ConfigInput {
  const { prompts, generations, tokens, promptTokens } = cases[name];
  return {
    model,
    chat_template: 'none',
    dataset: data,
    reward_fn: `${rewards}:alternating`,
    learning_rate: 1e-5,
    prompts_per_step: prompts,
    num_generations: generations,
    max_completion_length: tokens,
    max_prompt_tokens: promptTokens + 64,
    max_steps: STEPS,
    lora: { r: 16, alpha: 32 },
    eval: null,
    save: { every_steps: null, best: null },
    sample_every_steps: null,
    ...settings,
  };
}

/** @param title names the run's folder. @param limit seconds after which the training is stopped, which throws */
export async function measureSteps(
  folder: string,
  model: string,
  name: CaseName,
  settings: ConfigInput,
  title: string,
  limit?: number,
): Promise<StepTimes> {
  const { prompts, generations, tokens, promptTokens } = cases[name];
  const place = (file: string) => join(folder, file);
  const [rewards, file, data, out] = [
    place('rewards.ts'),
    place('config.json'),
    place('questions.jsonl'),
    place(`${name}-${title}`),
  ];
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const question = (i: number) => `${i} ${letters.repeat(40)}`.slice(0, promptTokens);
  const lines = Array.from({ length: prompts * STEPS }, (_, i) => `${JSON.stringify({ question: question(i) })}\n`);
  writeFileSync(data, lines.join(''));
  writeFileSync(rewards, alternating);
  writeFileSync(file, JSON.stringify(stepConfig(name, { model, data, rewards }, settings)));
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'training.ts'), file, out], {
    ...(limit !== undefined && { timeout: 1000 * limit }),
  });
  const timings = jsonLines<Record<string, number>>(readFileSync(join(out, 'timings.jsonl'), 'utf8')).slice(1);
  const seconds = (key: string) => median(timings.map((timing) => timing[key]!));
  const { peak_bytes } = JSON.parse(readFileSync(`${out}.peak.json`, 'utf8'));
  return {
    case: name,
    settings,
    step_seconds: seconds('step_time'),
    generated_tokens_per_second: (prompts * generations * tokens) / seconds('time/generate'),
    peak_bytes,
  };
}
