// Waits for a sweep that another process makes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { option } from '../common/words.ts';
import { readSweep, readSweepFile, type SweepRecord, sweepFiles } from './sweep-files.ts';
import type { SweepResult } from './sweep-schema.ts';

const PAUSE = 500; // ms

export interface WaitSweepOptions {
  /** Seconds. @default no limit */
  readonly timeout?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Waits until a sweep is over or the time is; its status says which. Undefined if the folder holds no sweep. */
export async function waitForSweep(
  directory: string,
  { timeout = Number.POSITIVE_INFINITY, signal }: WaitSweepOptions = {},
): Promise<SweepRecord | undefined> {
  const end = performance.now() + 1000 * timeout;
  for (;;) {
    const record = readSweep(directory);
    const left = end - performance.now();
    if (record?.status !== 'running' || left <= 0 || signal?.aborted) return record;
    await sleep(Math.min(PAUSE, left), undefined, signal ? { signal } : {}).catch(() => {});
  }
}

/** What the sweep printed; undefined if it has not completed. Throws `SWEEP_DAMAGED`. */
export function readSweepResult(directory: string): (SweepResult & { readonly ok: true }) | undefined {
  const path = join(directory, sweepFiles.result);
  if (!existsSync(path)) return undefined;
  return readSweepFile(path, `the same sweep with ${option('resume', true)} writes it again, and trains nothing twice`);
}
