// The context that commands of the command line receive.
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { z } from 'zod';
import type { ExitCode } from './exit-codes.ts';
import type { CommandKinds } from './mcp/tools.ts';
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

/** What commands about commands are made from. */
export interface AllCommands {
  readonly program: () => Promise<readonly Command[]>;
  readonly schemas: () => Promise<Readonly<Record<string, z.ZodType>>>;
  readonly kinds: CommandKinds;
}
