// The warnings of the checks before a run, which may tell why it learnt nothing.
import { join } from 'node:path';
import { readLines } from '../../runs/files.ts';
import { runFiles } from '../../runs/layout.ts';
import type { Check } from '../checks.ts';
import type { TrainEvent } from '../events.ts';

export type PreflightWarning = Required<Pick<Check, 'id' | 'detail' | 'hint'>>;

/** Empty if there are none or the checks were skipped. Read from the run's events, since a resumed run is not checked again. */
export function preflightWarnings(directory: string): PreflightWarning[] {
  const events = readLines<TrainEvent>(join(directory, runFiles.events));
  const checks = events.flatMap((event) => (event.type === 'preflight' ? event.checks : []));
  const warnings = checks.filter(({ ok, level }) => !ok && level === 'warning');
  return warnings.map(({ id, detail, hint = '' }) => ({ id, detail, hint }));
}
