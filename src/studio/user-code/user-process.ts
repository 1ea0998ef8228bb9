// Starts and ends Node processes for user code. In a process, unlike a thread, every endless loop can be stopped and a crash harms nothing else.
import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface UserProgram {
  /** The path of a module in this folder, without its extension. */
  readonly name: string;
  /** The most bytes of memory that it may take, which `guardProcess` enforces. */
  readonly memory: number;
}

/** Starts a process that does not keep this one running. When this one ends, it ends with all processes that it has started. */
export function startUserProcess({ name, memory }: UserProgram): ChildProcess {
  const program = fileURLToPath(new URL(`./${name}${extname(import.meta.filename)}`, import.meta.url));
  // User code writes to stderr, since stdout belongs to the command. It gets a process group of its own, so that Ctrl-C reaches only the process that
  // trains, which still needs the answer to its call.
  const child = fork(program, [String(process.pid), String(memory)], {
    ...{ execArgv: [], serialization: 'advanced', detached: true },
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  child.unref();
  child.channel!.unref();
  return child;
}

/** Kills a process with its whole group, including processes that have outlived it. */
export function endUserProcess({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended already.
  }
}

/** The reason for the end of a process, for errors. */
export function howItEnded({ memory }: UserProgram, code: number | null, signal: string | null): string {
  if (signal === 'SIGKILL') return `it took more than ${memory / 2 ** 30} GiB of memory, or its process was killed`;
  return `it ended its process with ${signal ?? `exit code ${code}`}`;
}
