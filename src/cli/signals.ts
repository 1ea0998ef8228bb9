// Handles Ctrl-C, SIGTERM and a closed terminal: the first signal asks the work to stop gracefully, another Ctrl-C exits at once.
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ofSignal, type StopSignal } from './exit-codes.ts';

/** Runs work with an AbortSignal, whose reason is the name of the signal that stopped it. */
export async function withStopSignals<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) controller.abort(name);
    // A second Ctrl-C means that a person will not wait. Programs such as `runs stop` may send a signal twice and mean the same.
    else if (name === 'SIGINT') process.exit(ofSignal.SIGINT);
  };
  const names = Object.keys(ofSignal) as StopSignal[];
  for (const name of names) process.on(name, stop);
  const watcher = startWatcher();
  try {
    return await work(controller.signal);
  } finally {
    for (const name of names) process.off(name, stop);
    await watcher?.terminate();
  }
}

/** What is computed on this thread keeps it from hearing signals; another thread then ends the process. */
function startWatcher(): Worker | undefined {
  if (process.platform !== 'linux' || isAddressSpaceLimited()) return undefined;
  const watcher = new Worker(join(import.meta.dirname, `signal-watcher${extname(import.meta.filename)}`), {
    execArgv: [],
  });
  watcher.on('error', () => {}); // without it, signals are heard when the computation ends
  watcher.unref();
  return watcher;
}

/** Where it is (`ulimit -v`), V8 ends the process instead of starting a thread that it has no addresses for. */
function isAddressSpaceLimited(): boolean {
  return !/^Max address space +unlimited/m.test(readFileSync('/proc/self/limits', 'utf8'));
}

/** Serves until a signal arrives, which counts as success. */
export function serveUntilStopped<S extends { close(): Promise<void> }>(
  open: (signal: AbortSignal) => Promise<S>,
  onOpen: (server: S) => void,
): Promise<undefined> {
  return withStopSignals(async (signal) => {
    const server = await open(signal);
    onOpen(server);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await server.close();
    return undefined;
  });
}
