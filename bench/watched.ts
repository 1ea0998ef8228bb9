// Runs a program to its end and measures its peak memory and the processor time of its steps; and medians.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a program printed, and what its whole process tree used. */
export interface Watched {
  readonly output: string;
  /** The most resident memory. */
  readonly peakBytes: number;
  /** For each step after the first, the seconds of all processors. */
  readonly processorSeconds: readonly number[];
}

/**
 * Runs a program to its end.
 * @param stepsDone how many steps it has made, from its output or its files. @default not known
 */
export function watched(
  command: string,
  args: readonly string[],
  stepsDone: (output: string) => number = () => 0,
): Promise<Watched> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const peaks = new Map<number, number>();
    const ends: number[] = [];
    const look = () => {
      const tree = processTree(child.pid!);
      for (const pid of tree) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, peakOf(pid)));
      if (stepsDone(output) > ends.length) ends.push(tree.reduce((sum, pid) => sum + secondsOf(pid), 0));
    };
    const timer = setInterval(look, 100);
    let output = '';
    let messages = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (messages += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(timer);
      if (code !== 0)
        return reject(new Error(`${command} ${args.join(' ')} ended with ${code}: ${messages.slice(-2000)}`));
      const peakBytes = [...peaks.values()].reduce((sum, peak) => sum + peak, 0);
      resolve({ output, peakBytes, processorSeconds: ends.slice(1).map((end, i) => end - ends[i]!) });
    });
  });
}

function processTree(pid: number): number[] {
  const children =
    readIfThere(`/proc/${pid}/task/${pid}/children`)?.trim().split(' ').filter(Boolean).map(Number) ?? [];
  return [pid, ...children.flatMap(processTree)];
}

/** VmHWM: the largest resident set that a process has had. */
function peakOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readIfThere(`/proc/${pid}/status`) ?? '')?.[1] ?? 0) * 1024;
}

/** The processor time of a process: its 14th and 15th field count hundredths of a second, for itself and for the system. */
function secondsOf(pid: number): number {
  const fields =
    readIfThere(`/proc/${pid}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
