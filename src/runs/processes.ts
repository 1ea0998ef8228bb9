// Whether the process that writes a run still exists. Its id is not enough, since ids are reused and ended processes may remain as zombies.
import { existsSync, readFileSync } from 'node:fs';

/** What Linux says of a process in /proc/PID/stat: its state, and when it began in clock ticks since the machine started. */
function processStat(pid: number): { state: string; start: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the name in parentheses, may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0]!, start: fields[19]! };
  } catch {
    return undefined;
  }
}

/** What tells a process from another that had, or will have, the same id; undefined where the system does not say. */
export function processStart(pid: number): string | undefined {
  return processStat(pid)?.start;
}

/** @param start what `processStart` said when the process was known to be the one that is meant */
export function isAlive(pid: number, start?: string): boolean {
  if (existsSync('/proc/self/stat')) {
    const stat = processStat(pid);
    const isDead = stat === undefined || stat.state === 'Z' || stat.state === 'X';
    return !isDead && (start === undefined || stat.start === start);
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
