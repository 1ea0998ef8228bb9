// Runs commands as separate processes: one that crashes, or prints where it should not, does not harm the server.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launcher } from '../../package/own-process.ts';
import { TOOL_WORDS } from '../command-words.ts';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  /** The last lines of stderr. */
  readonly stderr: readonly string[];
}

export interface CallOptions {
  /** Milliseconds after which the caller is told that the command still runs. */
  readonly patience: number;
  /** Ends the command. */
  readonly signal: AbortSignal;
  /** Sees each line of stderr. */
  readonly onLine: (line: string) => void;
}

interface Call {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
  readonly listeners: Set<(line: string) => void>;
}

const MOST_LINES = 20;

/** Running commands. A repeated call with the same command line waits for the same process. */
export class Calls {
  readonly #open = new Map<string, Call>();

  /** The output of a command; `undefined` if it still runs when patience ends. */
  async run(line: readonly string[], { patience, signal, onLine }: CallOptions): Promise<Finished | undefined> {
    const key = JSON.stringify(line);
    const call = this.#open.get(key) ?? startCall(line);
    this.#open.set(key, call);
    call.listeners.add(onLine);
    const end = () => call.process.kill('SIGTERM');
    signal.addEventListener('abort', end);
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), patience);
    try {
      const finished = await Promise.race([call.finished, ended]);
      if (finished) this.#open.delete(key);
      return finished;
    } finally {
      clearTimeout(timer);
      call.listeners.delete(onLine);
      signal.removeEventListener('abort', end);
    }
  }

  /** Resolves when no command runs. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all([...this.#open.values()].map(({ finished }) => finished));
  }

  /** Ends all running commands; detached runs continue. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    for (const { process } of open) process.kill('SIGTERM');
    await Promise.all(open.map(({ finished }) => finished));
  }
}

function startCall(line: readonly string[]): Call {
  const child = spawn(process.execPath, [launcher, ...line], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, [TOOL_WORDS]: '1' },
  });
  const listeners = new Set<(line: string) => void>();
  const stderr: string[] = [];
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  createInterface({ input: child.stderr }).on('line', (text) => {
    stderr.push(text);
    if (stderr.length > MOST_LINES) stderr.shift();
    for (const listen of listeners) listen(text);
  });
  const finished = new Promise<Finished>((resolve) => {
    child.on('error', ({ message }) => resolve({ code: 1, stdout, stderr: [...stderr, message] }));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { process: child, finished, listeners };
}
