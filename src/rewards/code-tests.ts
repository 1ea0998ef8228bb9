// Reward for code that passes tests. The code, JavaScript or Python, runs in a separate process for each completion.
import { z } from 'zod';
import { GradusError } from '../errors.ts';
import type { RewardFunction } from '../rewards.ts';
import { atMost } from './at-most.ts';
import { type CodeLanguage, harnesses } from './code-harness.ts';

export interface CodeTestsConfig {
  /** The programming language of the completions. @default 'python' */
  readonly language?: CodeLanguage;
  /** The column with a row's tests: one statement or a list of statements that throw if the code is wrong, such as `assert add(1, 2) == 3`. @default 'tests' */
  readonly tests_column?: string;
  /** Whether the reward is the fraction of tests that pass. Otherwise it is 1 if all pass, else 0. @default false */
  readonly partial_credit?: boolean;
  /** Seconds for a completion and all its tests. `reward_timeout` does not count in a configuration: completions wait for one another. @default 5 */
  readonly timeout_s?: number;
  /** Megabytes of memory for each process. @default 256 */
  readonly memory_mb?: number;
  /** Megabytes that a process may write to files. @default 16 */
  readonly file_mb?: number;
  /** Maximum number of completions that run at the same time, those of all groups together. @default 2 */
  readonly concurrency?: number;
  /** Whether to run code with the user's own permissions if the system cannot isolate it from files and network. @default false */
  readonly allow_unsandboxed?: boolean;
}

export const codeTestsConfig: z.ZodType<CodeTestsConfig> = z.strictObject({
  language: z.enum(['python', 'javascript']).exactOptional(),
  tests_column: z.string().exactOptional(),
  partial_credit: z.boolean().exactOptional(),
  timeout_s: z.number().positive().max(30).exactOptional(),
  memory_mb: z.int().min(32).exactOptional(),
  file_mb: z.int().positive().exactOptional(),
  concurrency: z.int().positive().exactOptional(),
  allow_unsandboxed: z.boolean().exactOptional(),
});

/** A program to run within limits, with access to nothing but its input. */
export interface Program {
  readonly language: CodeLanguage;
  readonly source: string;
  readonly input: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly fileMb: number;
  readonly allowUnsandboxed: boolean;
}

/** How a program ended. `output` is what it wrote to stdout, up to a limit. */
export interface ProgramEnd {
  readonly output: string;
  /** The limit that it exceeded, if known. A program that runs out of memory usually fails by itself and sets nothing here. */
  readonly stopped?: 'time' | 'output';
}

/**
 * Runs a program. Throws `SANDBOX_UNAVAILABLE` if it cannot isolate the program from files and network and `allowUnsandboxed` is not set.
 */
export type RunProgram = (program: Program) => Promise<ProgramEnd>;

/**
 * 1 if the code passes all tests, or with `partial_credit` the fraction that pass; `null` for a row without tests. The code is the last
 * fenced block of the completion, or all of it. Tests run after the code, in the same process: code that exits early passes none, and it
 * does not know the random mark that reports a passed test. Logs `code_tests/passed` (the fraction), `code_tests/timeouts` and
 * `code_tests/floods` (output beyond the limit).
 */
export function codeTests(config: CodeTestsConfig, run: RunProgram): RewardFunction {
  const { language = 'python', tests_column = 'tests', partial_credit = false, concurrency = 2 } = config;
  const { timeout_s = 5, memory_mb = 256, file_mb = 16, allow_unsandboxed = false } = config;
  const limits = { timeoutMs: timeout_s * 1000, memoryMb: memory_mb, fileMb: file_mb };

  const runInTurn = atMost(concurrency, run);
  const tried = async (completion: string, tests: readonly string[]) => {
    if (tests.length === 0) return null;
    const mark = crypto.randomUUID();
    const input = JSON.stringify({ code: codeOf(completion), tests, mark });
    const source = harnesses[language];
    const { output, stopped } = await runInTurn({
      language,
      source,
      input,
      ...limits,
      allowUnsandboxed: allow_unsandboxed,
    });
    return { passed: tests.filter((_, test) => output.includes(`\n${mark} ${test}\n`)).length / tests.length, stopped };
  };

  return async ({ completions, columns, log }) => {
    const given = columns[tests_column];
    if (given === undefined) throw columnMissing(tests_column);
    const ends = await Promise.all(completions.map((text, i) => tried(text, testsOf(given[i], tests_column))));
    return ends.map((end) => {
      if (end === null) return null;
      log('code_tests/passed', end.passed);
      log('code_tests/timeouts', Number(end.stopped === 'time'));
      log('code_tests/floods', Number(end.stopped === 'output'));
      return partial_credit ? end.passed : Math.floor(end.passed);
    });
  };
}

/** The last complete fenced block, or the whole text if there is none. */
function codeOf(completion: string): string {
  const blocks = [...completion.matchAll(/^```[^\n`]*\n(.*?)^```[ \t]*$/gms)];
  return blocks.at(-1)?.[1] ?? completion;
}

function testsOf(given: unknown, column: string): string[] {
  const tests = given === null || given === undefined ? [] : [given].flat();
  if (tests.every((test) => typeof test === 'string')) return tests.filter((test) => test.trim() !== '');
  throw new GradusError('ROW_INVALID', `column ${JSON.stringify(column)} holds tests that are not texts`, {
    hint: 'a test is a statement, such as "assert add(1, 2) == 3"',
    path: 'tests_column',
  });
}

function columnMissing(column: string): GradusError {
  return new GradusError('COLUMN_MISSING', `the data set has no column ${JSON.stringify(column)} with tests`, {
    hint: 'set tests_column to the column with the tests',
    path: 'tests_column',
  });
}
