// Starts `gradus dashboard` as a process of its own, on a port that is free.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { type Finished, onlyObject } from './gradus.ts';

export interface DashboardProcess {
  readonly url: string;
  /** What it printed. */
  readonly result: Record<string, unknown>;
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

export async function startDashboard(cwd: string, ...args: readonly string[]): Promise<DashboardProcess> {
  const launcher = join(import.meta.dirname, '..', 'bin', 'gradus');
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const child = spawn(process.execPath, [launcher, 'dashboard', '--port', '0', ...args], { cwd, env });
  const texts = { stdout: '', stderr: '' };
  const finished = new Promise<Finished>((resolve) => child.on('close', (code) => resolve({ code, ...texts })));
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return finished;
  };
  child.stderr.on('data', (chunk) => {
    texts.stderr += chunk;
  });
  const said = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      texts.stdout += chunk;
      if (texts.stdout.includes('\n')) resolve();
    });
  });
  await Promise.race([said, finished]);
  if (texts.stdout === '') throw new Error(`gradus dashboard said nothing: ${texts.stderr}`);
  const result = onlyObject(texts.stdout);
  return { url: String(result.url), result, stop };
}
