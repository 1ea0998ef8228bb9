// What benchmarks share: the folder of the model, the Python of the peers, and contenders that run in turn.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..');
export const cache = join(root, '.cache', 'bench');
/** The interpreter that `preparePython` makes. */
export const python = join(root, 'python', '.venv', 'bin', 'python');
/** Where `--models` points unless told. */
export const modelsFolder = process.env.GRADUS_MODELS ?? join(root, '..', 'shared', 'models');
export const machine = `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores`;

/** SmolLM2's folder, with a GGUF file and the tokenizer's files. */
export function smollm2(models: string): string {
  const folder = join(models, 'smollm2-135m-instruct');
  if (!existsSync(folder)) throw new Error(`${folder} is missing; name the folder that holds it with --models`);
  return folder;
}

/** Sets up `python/.venv` unless it is there. */
export function preparePython(): void {
  execFileSync(join(root, 'python', 'setup.sh'), { stdio: ['ignore', 'inherit', 'inherit'] });
}

export const peerDtypes = ['bfloat16', 'float32'] as const;
export type PeerDtype = (typeof peerDtypes)[number];

/** The folder that transformers reads, made once from the GGUF file. */
export function huggingFaceFolder(gguf: string, dtype: PeerDtype): string {
  const folder = join(cache, dtype);
  if (!existsSync(join(folder, 'model.safetensors'))) {
    mkdirSync(folder, { recursive: true });
    execFileSync(python, [join(root, 'python', 'gguf_to_hf.py'), gguf, folder, dtype], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  }
  return folder;
}

/** Runs every contender once a round, one after another, so that a slower machine slows all of them. Rounds count from 1. */
export async function inTurn<T>(
  rounds: number,
  contenders: Readonly<Record<string, (round: number) => Promise<T>>>,
  describe: (result: T) => string,
): Promise<Map<string, T[]>> {
  const results = new Map<string, T[]>(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      const result = await run(round);
      results.get(name)!.push(result);
      process.stderr.write(`round ${round}: ${name} ${describe(result)}\n`);
    }
  }
  return results;
}

/** The lines of JSON that a contender's process printed. */
export function jsonLines<T>(output: string): T[] {
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

/** A table in Markdown. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line), ''].join('\n');
}
