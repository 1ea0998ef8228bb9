// gradus runs wait, of a sweep.
import { call, option } from '../../../common/words.ts';
import type { Cli } from '../../cli.ts';
import { ofKind, ofSignal, type StopSignal } from '../../exit-codes.ts';
import { duration } from '../../formatting.ts';
import type { DescribedError } from '../../schemas.ts';
import { withStopSignals } from '../../signals.ts';

/** Prints what the sweep found, or that it has not completed. */
export async function waitForSweep({ output }: Cli, directory: string, timeout: number | undefined) {
  const { readSweepResult, waitForSweep: wait } = await import('../../../sweep/wait-sweep.ts');
  const started = performance.now();
  const { record, stoppedBy } = await withStopSignals(async (signal) => ({
    record: (await wait(directory, { signal, ...(timeout !== undefined && { timeout }) }))!,
    stoppedBy: signal.reason as StopSignal | undefined,
  }));
  const waited = (performance.now() - started) / 1000;
  const { status, trials: _, config: __, ...others } = record;
  const result = status === 'completed' ? readSweepResult(directory) : undefined;
  const found = { sweep: { dir: directory, ...others, status }, waited };
  const told = { schema: 'sweep.status/1', command: 'runs wait', ...found };
  if (result) {
    const { nextAfterSweep } = await import('../sweep.ts');
    const best = JSON.stringify(result.best.settings);
    output.result({ ok: true, ...told, result, next: nextAfterSweep(result) }, `${directory}: the best: ${best}`);
    return undefined;
  }
  const isActive = status === 'running';
  const hint = `the same ${call('sweep')} with ${option('resume', true)} continues it`;
  const { kind = 'failed', ...failure } = record.error ?? {};
  const ended = { code: 'SWEEP_STOPPED', message: `the sweep is ${status}`, hint, ...failure };
  const error: DescribedError = isActive
    ? { code: 'STILL_RUNNING', message: `the sweep is still running after ${duration(waited)}`, hint: 'wait again' }
    : ended;
  const whileActive = stoppedBy ? ofSignal[stoppedBy] : 6;
  return output.outcome(
    { ok: false, ...told, error },
    `${directory}: ${status}`,
    isActive ? whileActive : ofKind[kind],
  );
}
