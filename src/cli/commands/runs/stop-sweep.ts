// gradus runs stop, of a sweep.
import { call } from '../../../common/words.ts';
import type { Cli } from '../../cli.ts';

/** Prints how far the sweep was, or that it has not ended yet. */
export async function stopSweep({ output }: Cli, directory: string, timeout: number) {
  const { stopSweep: stop } = await import('../../../sweep/stop-sweep.ts');
  const { record, asked } = (await stop(directory, { timeout }))!;
  const { status, trials: _, config: __, ...others } = record;
  const isStill = status === 'running';
  return output.outcome(
    {
      ok: !isStill,
      schema: 'sweep.stopped/1',
      command: 'runs stop',
      sweep: { dir: directory, ...others, status },
      asked,
      ...(isStill && {
        error: {
          code: 'STILL_RUNNING',
          message: `still running after ${timeout} s`,
          hint: `its runs end after their current steps; wait for it: ${call('wait', directory)}`,
        },
      }),
    },
    `${directory}: ${asked ? status : `was not running: ${status}`}${status === 'completed' ? '' : '; the same gradus sweep with --resume continues it'}`,
    isStill ? 6 : 0,
  );
}
