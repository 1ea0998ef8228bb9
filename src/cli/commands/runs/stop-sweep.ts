// gradus runs stop, of a sweep.
import { call } from '../../../common/words.ts';
import type { Cli } from '../../cli.ts';
import { stillRunning } from '../../still-running.ts';

/** Prints how far the sweep was, or that it has not ended yet. */
export async function stopSweep({ output }: Cli, directory: string, timeout: number) {
  const { stopSweep: stop } = await import('../../../sweep/stop-sweep.ts');
  const { record, asked } = (await stop(directory, { timeout }))!;
  const { status, trials: _, config: __, ...others } = record;
  const hint = `its runs end after their current steps; wait for it: ${call('wait', directory)}`;
  return output.result(
    'sweep.stopped/1',
    { sweep: { dir: directory, ...others, status }, asked },
    `${directory}: ${asked ? status : `was not running: ${status}`}${status === 'completed' ? '' : '; the same gradus sweep with --resume continues it'}`,
    status === 'running' ? stillRunning(`still running after ${timeout} s`, hint) : undefined,
  );
}
