// Reward for code that passes tests: JavaScript or Python, run in a process of its own for each completion.
import { z } from 'zod';
import { GradusError } from '../errors.ts';
import type { RewardFunction } from '../rewards.ts';
import { type CodeLanguage, harnesses } from './code-harness.ts';

export interface CodeTestsConfig {
  /** What the completions are written in. @default 'python' */
  readonly language?: CodeLanguage;
  /** The column with a row's tests: a list of statements that throw where the code is wrong, such as `assert add(1, 2) == 3`, or one. @default 'tests' */
  readonly tests_column?: string;
  /** Whether the reward is the part of the tests that pass, or else 1 where all do. @default false */
  readonly partial_credit?: boolean;
  /** Seconds for a completion and all its tests. All completions of a group together have the 30 s of every reward. @default 5 */
  readonly timeout_s?: number;
  /** Megabytes that one process may take. @default 256 */
  readonly memory_mb?: number;
  /** Megabytes that it may write to files. @default 16 */
  readonly file_mb?: number;
  /** Completions that are run at a time. @default 2 */
  readonly concurrency?: number;
  /** Whether to run them with the rights of whoever trains, where the system offers no isolation from files and network. @default false */
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

/** A program to run with nothing but its input, within limits. */
export interface Program {
  readonly language: CodeLanguage;
  readonly source: string;
  readonly input: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly fileMb: number;
  readonly allowUnsandboxed: boolean;
}

/** How a program ended: `output` is what it wrote to stdout, up to the limit. */
export interface ProgramEnd {
  readonly output: string;
  /** Which limit it ran into, if the runner can tell; a program that lacks memory mostly fails by itself. */
  readonly stopped?: 'time' | 'output';
}

/**
 * Runs programs: what of the outside this reward needs. Throws `SANDBOX_UNAVAILABLE` where it cannot keep a program from files and network
 * and is not allowed to do without.
 */
export type RunProgram = (program: Program) => Promise<ProgramEnd>;

/**
 * 1 where the code passes all tests, or the part of them with `partial_credit`; `null` for a row without tests. The code of a completion is
 * its last block in ``` marks, or all of it. Tests run after the code in the same process: one that ends early has passed nothing, and it
 * does not know how a passed test is told. Logs `code_tests/passed`, `code_tests/timeouts` and `code_tests/floods` (output beyond limit).
 */
export function codeTests(config: CodeTestsConfig, run: RunProgram): RewardFunction {
  const { language = 'python', tests_column = 'tests', partial_credit = false, concurrency = 2 } = config;
  const { timeout_s = 5, memory_mb = 256, file_mb = 16, allow_unsandboxed = false } = config;
  const limits = { timeoutMs: timeout_s * 1000, memoryMb: memory_mb, fileMb: file_mb };

  return async ({ completions, columns, log }) => {
    const given = columns[tests_column];
    if (given === undefined) throw columnMissing(tests_column);
    const scores: (number | null)[] = completions.map(() => null);
    const pending = completions.entries();
    const worker = async () => {
      for (const [i, completion] of pending) {
        const tests = testsOf(given[i], tests_column);
        if (tests.length === 0) continue;
        const mark = crypto.randomUUID();
        const input = JSON.stringify({ code: codeOf(completion), tests, mark });
        const program = {
          language,
          source: harnesses[language],
          input,
          ...limits,
          allowUnsandboxed: allow_unsandboxed,
        };
        const { output, stopped } = await run(program);
        const passed = tests.filter((_, test) => output.includes(`\n${mark} ${test}\n`)).length / tests.length;
        scores[i] = partial_credit ? passed : Math.floor(passed);
        log('code_tests/passed', passed);
        log('code_tests/timeouts', Number(stopped === 'time'));
        log('code_tests/floods', Number(stopped === 'output'));
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, completions.length) }, worker));
    return scores;
  };
}

/** The last block in ``` marks that is closed, or all of the text where there is none. */
function codeOf(completion: string): string {
  const blocks = [...completion.matchAll(/^```[^\n`]*\n(.*?)^```[ \t]*$/gms)];
  return blocks.at(-1)?.[1] ?? completion;
}

function testsOf(given: unknown, column: string): string[] {
  const tests = given === null || given === undefined ? [] : [given].flat();
  if (tests.every((test) => typeof test === 'string')) return tests.filter((test) => test.trim() !== '');
  throw new GradusError('ROW_INVALID', `column ${JSON.stringify(column)} holds tests that are no texts`, {
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
