// A thread that ends the process if the main thread is too busy to notice a signal. It runs on Linux, in a worker of `signals.ts`.
import { readdirSync, readlinkSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { watcherStates as states } from './watcher-states.ts';

/** Milliseconds between two checks, and after which an unnoticed signal ends the process. */
const [PAUSE, PATIENCE] = [500, 5000];
const FIONREAD = 0x541b;
/** Node's handler of signals writes messages of a pointer and a number to a pipe, from which the main thread reads. */
const MESSAGE_BYTES = 16;

const { state }: { readonly state: Int32Array } = workerData;

// Ending a thread while it loads a native library crashes the process.
if (Atomics.compareExchange(state, 0, states.waiting, states.loading) !== states.waiting) process.exit();
const { default: koffi } = await import('../runtime/koffi.ts');

const system = koffi.load(null);
const unread = system.func('int ioctl(int file, unsigned long request, _Out_ int *bytes)');
const read = system.func('long read(int file, _Out_ uint8_t *memory, size_t bytes)');
const handle = system.func('void *signal(int number, intptr_t handler)');
const send = system.func('int kill(int process, int number)');
Atomics.store(state, 0, states.loaded);
Atomics.notify(state, 0);

/** Unread bytes in a pipe. */
function bytesIn(file: number): number {
  const bytes = [0];
  return unread(file, FIONREAD, bytes) === 0 ? bytes[0]! : 0;
}

/** The pipes of which this process holds both ends, by their lower file descriptor, the one to read from. */
function ownPipes(): number[] {
  const files = new Map<string, number[]>();
  for (const file of readdirSync('/proc/self/fd')) {
    try {
      const target = readlinkSync(`/proc/self/fd/${file}`);
      if (target.startsWith('pipe:')) files.set(target, [...(files.get(target) ?? []), Number(file)]);
    } catch {
      // The descriptor of the folder itself has been closed by now.
    }
  }
  return [...files.values()].filter((ends) => ends.length === 2).map((ends) => Math.min(...ends));
}

// Another of Node's pipes, a lock, always holds a byte. A signal may have arrived already.
const pipes = ownPipes().filter((file) => bytesIn(file) % MESSAGE_BYTES === 0);
const since = new Map<number, number>();

setInterval(() => {
  for (const file of pipes) {
    const bytes = bytesIn(file);
    if (bytes === 0 || bytes % MESSAGE_BYTES !== 0) {
      since.delete(file);
      continue;
    }
    const begin = since.get(file) ?? performance.now();
    since.set(file, begin);
    // Whoever sends another signal will not wait.
    if (bytes > MESSAGE_BYTES || performance.now() - begin >= PATIENCE) end(file);
  }
}, PAUSE);

/** Ends the process as the signal would by default. */
function end(file: number): void {
  const memory = Buffer.alloc(MESSAGE_BYTES);
  if (read(file, memory, MESSAGE_BYTES) !== MESSAGE_BYTES) return;
  const number = memory.readInt32LE(8);
  handle(number, 0);
  send(process.pid, number);
}
