// Writes what another system needs to run the same training at scale: `gradus handoff` for programs.
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describableModel } from '../../backends/model-files/find-model.ts';
import { ggufAt } from '../../backends/model-files/gguf-file.ts';
import { openModelText } from '../../backends/open-renderer.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { GradusError } from '../../errors.ts';
import { writeParquet } from '../../formats/parquet-writer.ts';
import { makeFolder } from '../../runs/make-folder.ts';
import { shellWord } from '../../shell-word.ts';
import { type Problems, promptOf, stepCount } from '../data/problems.ts';
import { fitPrompts } from '../data/prompt-lengths.ts';
import { openTask } from '../task.ts';
import { gradusVersion } from '../versions.ts';
import { copyCode } from './code-folders.ts';
import type { Override } from './handoff-row.ts';
import { promptTemplate } from './prompt-template.ts';
import { verlDifferences } from './verl-differences.ts';
import { assertHandsOver, verlOverrides } from './verl-overrides.ts';
import { verlColumns, verlRows } from './verl-rows.ts';
import { readme, rewardOverrides, runScript, trainedSettings, verlVersion } from './verl-texts.ts';

export interface HandoffOptions {
  /** The folder to write. */
  readonly out: string;
  /** Write over an earlier hand-off; what verl left beside it stays. @default false */
  readonly overwrite?: boolean;
}

export interface HandoffResult {
  readonly ok: true;
  readonly schema: 'handoff.result/1';
  readonly command: 'handoff';
  readonly to: { readonly name: 'verl'; readonly version: string };
  readonly dir: string;
  /** The names of the files, sorted. */
  readonly files: readonly string[];
  readonly problems: { readonly train: number; readonly eval: number };
  readonly steps: number;
  /** The most tokens that a prompt may have. */
  readonly prompt_tokens: number;
  /** verl's keys and their values, but for paths and numbers of GPUs. */
  readonly overrides: Readonly<Record<string, Override>>;
  /** Where training differs although every key was handed over. */
  readonly differences: readonly string[];
  readonly next: readonly string[];
}

const pythonFiles = ['reward.py', 'reward_manager.py'] as const;
/** The folder of the Python files, seen from `src` and from `dist` alike. */
const pythonFolder = fileURLToPath(new URL('../../../python/verl', import.meta.url));

/**
 * Writes a folder with data, rewards, settings and a script for verl. Throws `HANDOFF_UNSUPPORTED` for what verl has no counterpart of,
 * `HANDOFF_EXISTS` where something is there already, `DATASET_TOO_SMALL`, and the errors of opening data, rewards and the model's tokenizer.
 */
export async function handOff({ config, file }: LoadedConfig, options: HandoffOptions): Promise<HandoffResult> {
  const { out, overwrite = false } = options;
  assertHandsOver(config);
  assertNew(out, overwrite);
  const { problems, promptTokens, chatTemplate } = await openPrompts(config);
  const { train, eval: heldOut } = problems;
  const steps = stepCount(config, problems);
  assertFillsStep(config, train.length);
  const overrides = {
    ...verlOverrides({ config, steps, rows: train.length, promptTokens, chatTemplate }),
    ...rewardOverrides,
    'trainer.experiment_name': basename(resolve(out)),
  };
  const differences = verlDifferences(config);

  makeFolder(resolve(out));
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(out, name), content);
  const rows = {
    source: config.dataset ?? config.taskset!,
    answerColumn: config.answer_column,
    prompt: promptOf(config),
  };
  write('train.parquet', writeParquet(verlRows(train, { ...rows, split: 'train' }), verlColumns));
  if (heldOut.length > 0) {
    write('eval.parquet', writeParquet(verlRows(heldOut, { ...rows, split: 'eval' }), verlColumns));
  }
  write('gradus.json', `${JSON.stringify(copyCode(config, out), null, 2)}\n`);
  for (const name of pythonFiles) copyFileSync(join(pythonFolder, name), join(out, name));
  write(
    'run.sh',
    runScript({ overrides, evaluates: heldOut.length > 0, keepsRollouts: config.sample_every_steps !== null }),
  );
  chmodSync(join(out, 'run.sh'), 0o755);
  const completions = config.prompts_per_step * config.num_generations;
  write(
    'README.md',
    readme({
      version: gradusVersion(),
      model: config.model!,
      train: train.length,
      eval: heldOut.length,
      steps,
      completions,
      lora: config.lora !== null,
      differences,
    }),
  );
  return {
    ok: true,
    schema: 'handoff.result/1',
    command: 'handoff',
    to: { name: 'verl', version: verlVersion },
    dir: out,
    files: readdirSync(out).sort(),
    problems: { train: train.length, eval: heldOut.length },
    steps,
    prompt_tokens: promptTokens,
    overrides,
    differences,
    next: [
      `cd ${shellWord(out)} && GPUS=8 ./run.sh`,
      `gradus eval ${shellWord(file ?? 'CONFIG')} ${trainedSettings(config.lora !== null)}`,
    ],
  };
}

interface Prompts {
  readonly problems: Problems;
  readonly promptTokens: number;
  readonly chatTemplate: string | null;
}

/** The problems whose prompts are short enough, as training would ask them. No weights are read or downloaded. */
async function openPrompts(config: Config): Promise<Prompts> {
  const { problems: all } = await openTask(config);
  const { path } = await describableModel(config.model!);
  if (ggufAt(path)) {
    throw new GradusError('HANDOFF_UNSUPPORTED', `${config.model} is a GGUF model, which verl does not read`, {
      hint: 'give the folder of safetensors that it was made of, or its id on the hub',
      path: 'model',
    });
  }
  const text = await openModelText(path, config.chat_template);
  const prompt = promptOf(config);
  const contextLength = contextOf(path);
  const { problems } = fitPrompts(config, all, { prompt, renderer: text.renderer, contextLength });
  const longest = [...problems.train, ...problems.eval].reduce(
    (most, row) => Math.max(most, text.renderer.render({ messages: prompt(row) }).ids.length),
    1,
  );
  const room = contextLength - config.max_completion_length;
  return {
    problems,
    promptTokens: Math.min(longest, room, config.max_prompt_tokens ?? room),
    chatTemplate: promptTemplate(config, text),
  };
}

/** Reads the length of the context from the model's config.json, that of its language model if it has other parts. Throws `MODEL_CONFIG_INVALID`. */
function contextOf(folder: string): number {
  const file = join(folder, 'config.json');
  const config = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const length: unknown = config.max_position_embeddings ?? config.text_config?.max_position_embeddings;
  if (typeof length === 'number') return length;
  throw new GradusError('MODEL_CONFIG_INVALID', `${file} does not say how long a context is`, {
    hint: 'verl needs a folder of transformers, with max_position_embeddings in its config.json',
    path: 'model',
  });
}

function assertNew(out: string, overwrite: boolean): void {
  const found = statSync(out, { throwIfNoEntry: false });
  if (!found || (found.isDirectory() && readdirSync(out).length === 0)) return;
  if (overwrite && existsSync(join(out, 'gradus.json'))) return;
  throw new GradusError('HANDOFF_EXISTS', `${out} is there already`, {
    hint: overwrite ? 'it is no hand-off: name another folder' : 'name another folder, or add --overwrite',
    path: out,
  });
}

/** verl leaves out what fills no step. */
function assertFillsStep({ prompts_per_step }: Config, rows: number): void {
  if (rows >= prompts_per_step) return;
  throw new GradusError('DATASET_TOO_SMALL', `${rows} problems fill no step of ${prompts_per_step} prompts`, {
    hint: `set prompts_per_step to at most ${rows}: verl repeats no problem within an epoch`,
    path: 'prompts_per_step',
  });
}
