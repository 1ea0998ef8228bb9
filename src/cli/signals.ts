// Ctrl-C, SIGTERM and a terminal that is closed: the first signal asks the work to stop in good order, a Ctrl-C after it leaves at once.
import { ofSignal, type StopSignal } from './exit-codes.ts';

/** Runs work under a signal whose reason is the name of whatever stopped it. */
export async function withStopSignals<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) controller.abort(name);
    // Only people press a key again because they will not wait; what programs send twice, such as `runs stop`, asks for the same.
    else if (name === 'SIGINT') process.exit(ofSignal.SIGINT);
  };
  const names = Object.keys(ofSignal) as StopSignal[];
  for (const name of names) process.on(name, stop);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of names) process.off(name, stop);
  }
}

/** Serves until a signal comes, which is how a server ends well. */
export function serveUntilStopped<S extends { close(): Promise<void> }>(
  open: (signal: AbortSignal) => Promise<S>,
  tell: (server: S) => void,
): Promise<undefined> {
  return withStopSignals(async (signal) => {
    const server = await open(signal);
    tell(server);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await server.close();
    return undefined;
  });
}
