// Starts `gradus dashboard` as a process of its own, on a port that is free.
import { type Finished, onlyObject, startGradus } from './gradus.ts';

export interface DashboardProcess {
  readonly url: string;
  /** What it printed. */
  readonly result: Record<string, unknown>;
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

export async function startDashboard(cwd: string, ...args: readonly string[]): Promise<DashboardProcess> {
  const { process: child, texts, finished } = startGradus(['dashboard', '--port', '0', ...args], { cwd });
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return finished;
  };
  const said = new Promise<void>((resolve) => {
    child.stdout.on('data', () => {
      if (texts.stdout.includes('\n')) resolve();
    });
  });
  await Promise.race([said, finished]);
  if (texts.stdout === '') throw new Error(`gradus dashboard said nothing: ${texts.stderr}`);
  const result = onlyObject(texts.stdout);
  return { url: String(result.url), result, stop };
}
