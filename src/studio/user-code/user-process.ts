// Node processes that run code of the user's: processes, where an endless loop can be stopped and a crash harms nothing else.
import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A program of this folder, and the most bytes of memory that it may take: `guardProcess` sees to that. */
export interface UserProgram {
  readonly name: string;
  readonly memory: number;
}

/** Keeps no program running. Ends with this one, and takes along whatever it has started itself. */
export function startUserProcess({ name, memory }: UserProgram): ChildProcess {
  const program = fileURLToPath(new URL(`./${name}${extname(import.meta.filename)}`, import.meta.url));
  // Whatever user code writes goes to stderr: stdout is the command's. A signal to the whole group of processes, as Ctrl-C sends it, is for the one
  // that trains, which still needs its answer: hence a group of its own.
  const child = fork(program, [String(process.pid), String(memory)], {
    ...{ execArgv: [], serialization: 'advanced', detached: true },
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  child.unref();
  child.channel!.unref();
  return child;
}

/** With all processes of its group, even those that outlived it. */
export function endUserProcess({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // They have ended.
  }
}

export function howItEnded({ memory }: UserProgram, code: number | null, signal: string | null): string {
  if (signal === 'SIGKILL') return `it took more than ${memory / 2 ** 30} GiB of memory, or its process was killed`;
  return `it ended its process with ${signal ?? `exit code ${code}`}`;
}
