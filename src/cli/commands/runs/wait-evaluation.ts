// gradus runs wait --eval: of an evaluation in the background.
import type { Cli } from '../../cli.ts';
import { type ExitCode, exitCodes, ofSignal, type StopSignal } from '../../exit-codes.ts';
import { duration } from '../../formatting.ts';
import type { DescribedError } from '../../schemas.ts';
import { withStopSignals } from '../../signals.ts';

/** Passes on what the evaluation printed, with its exit code. */
export async function waitForEvaluation(
  { output }: Cli,
  name: string,
  number: number | undefined,
  timeout: number | undefined,
) {
  const { findRun } = await import('../../../runs/read-run.ts');
  const { printedBy, waitForEvaluation: wait } = await import('../../../runs/background-evaluations.ts');
  const dir = findRun(name);
  const started = performance.now();
  const { evaluation, stoppedBy } = await withStopSignals(async (signal) => ({
    evaluation: await wait(dir, number, { signal, ...(timeout !== undefined && { timeout }) }),
    stoppedBy: signal.reason as StopSignal | undefined,
  }));
  const waited = (performance.now() - started) / 1000;
  const told = { schema: 'eval.status/1', command: 'runs wait', dir, evaluation, waited };
  if (evaluation.running) {
    const error = {
      code: 'STILL_RUNNING',
      message: `the evaluation is still running after ${duration(waited)}`,
      hint: 'wait again',
    };
    return output.outcome({ ok: false, ...told, error }, `${dir}: still running`, stoppedBy ? ofSignal[stoppedBy] : 6);
  }
  const printed = printedBy(dir, evaluation);
  const { exit_code = 0, error } = (printed ?? {
    exit_code: 1,
    error: {
      code: 'EVALUATION_INTERRUPTED',
      message: 'its process ended without a message',
      hint: `see ${evaluation.log}`,
    },
  }) as { readonly exit_code?: number; readonly error?: DescribedError };
  const result = printed?.schema === 'eval.result/1' ? printed : undefined;
  const text = error ? error.message : `${dir}: evaluated`;
  return output.outcome(
    { ok: error === undefined, ...told, ...(result && { result }), ...(error && { error }) },
    text,
    exitCodes.some(({ code }) => code === exit_code) ? (exit_code as ExitCode) : 1,
  );
}
