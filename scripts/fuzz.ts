// Reads ten thousand damaged files of every kind, or of those that are named: npm run fuzz -- [--count N] [kind …]. Exit 1 at the first fault.
// Each kind has a thread of its own, which is given up when it hangs.
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fault, kinds } from '../test/fuzz.ts';

/** A file that takes longer, in milliseconds, is a hang. */
const HANG = 30_000;

if (isMainThread) {
  const { values, positionals } = parseArgs({
    options: { count: { type: 'string', default: '10000' } },
    allowPositionals: true,
  });
  for (const kind of positionals.length > 0 ? positionals : Object.keys(kinds)) {
    const found = await watched(kind, Number(values.count));
    console.log(`${kind}: ${found ?? `${values.count} damaged files, each read or refused with one clear error`}`);
    if (found) process.exitCode = 1;
  }
} else {
  const { kind, count } = workerData as { kind: string; count: number };
  for (let n = 0; n < count; n++) {
    if (n % 20 === 0) parentPort!.postMessage({ n });
    const found = await fault(kind, n);
    if (!found) continue;
    parentPort!.postMessage({ n, found });
    break;
  }
}

/** The first fault, a crash or a hang; undefined if there is none. */
function watched(kind: string, count: number): Promise<string | undefined> {
  const worker = new Worker(import.meta.filename, {
    workerData: { kind, count },
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  });
  return new Promise((resolve) => {
    let last = 0;
    const hangs = () => {
      resolve(`hangs at one of the files from ${last}`);
      worker.terminate();
    };
    let timer = setTimeout(hangs, HANG);
    worker.on('message', ({ n, found }: { n: number; found?: string }) => {
      last = n;
      clearTimeout(timer);
      timer = setTimeout(hangs, HANG);
      if (found) resolve(`file ${n} ${found}`);
    });
    worker.on('error', (error) => resolve(`crashes at one of the files from ${last}: ${error.message}`));
    worker.on('exit', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
}
