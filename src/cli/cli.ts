// The context that the commands of the command line are given.
import type { Readable } from 'node:stream';
import type { ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';

export interface Cli {
  readonly output: Output;
  /** Opens standard input. */
  readonly stdin: () => Readable;
  /** The whole command line, without the program's name. */
  readonly argv: readonly string[];
  /** Wraps the work of a command, which returns the exit code, as commander's action. */
  action<A extends unknown[]>(
    work: (...args: A) => Promise<ExitCode | undefined> | ExitCode | undefined,
  ): (...args: A) => Promise<void>;
}
