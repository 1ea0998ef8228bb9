// A program run to its end, with the memory that it held at most; and medians.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Runs a program to its end, and keeps what its whole process tree had resident at most. */
export function watched(command: string, args: readonly string[]): Promise<{ output: string; peakBytes: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const peaks = new Map<number, number>();
    const look = () => {
      for (const pid of processTree(child.pid!)) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, peakOf(pid)));
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
      resolve({ output, peakBytes: [...peaks.values()].reduce((sum, peak) => sum + peak, 0) });
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
