// Waits for a run that another process writes, and asks that process to stop.
import { setTimeout as sleep } from 'node:timers/promises';
import { isActive, readRun } from './read-run.ts';
import type { RunRecord } from './records.ts';

/** Milliseconds between two checks, at first and at most. */
const [firstPause, longestPause] = [50, 1000];

export interface WaitOptions {
  /** Seconds. @default no limit */
  readonly timeout?: number;
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause and once at the end. */
  readonly onLook?: (record: RunRecord) => void;
}

/** Waits until a run has ended or the time is over; the status of the run shows which. */
export async function waitForRun(directory: string, options: WaitOptions = {}): Promise<RunRecord> {
  const { timeout = Number.POSITIVE_INFINITY, signal, onLook } = options;
  const end = performance.now() + 1000 * timeout;
  for (let pause = firstPause; ; pause = Math.min(longestPause, 1.5 * pause)) {
    const record = readRun(directory);
    onLook?.(record);
    const left = end - performance.now();
    if (!isActive(record) || left <= 0 || signal?.aborted) return record;
    await sleep(Math.min(pause, left), undefined, signal ? { signal } : {}).catch(() => {});
  }
}

/**
 * Asks the process of a run to write a checkpoint and end, and waits until it has. A run whose process is gone is left as it is.
 * @returns the run, and whether there was a process to ask
 */
export async function stopRun(
  directory: string,
  options: WaitOptions = {},
): Promise<{ record: RunRecord; asked: boolean }> {
  const record = readRun(directory);
  if (!isActive(record)) return { record, asked: false };
  try {
    process.kill(record.pid, 'SIGTERM');
  } catch {
    // The process has ended in the meantime.
  }
  return { record: await waitForRun(directory, options), asked: true };
}
