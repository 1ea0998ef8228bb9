// An alert of run health in one line.
import type { DiagnosedAlert } from '../runs/records.ts';

/** `step 40: warning kl_drift: mean KL 0.61 in the last 10 steps (until step 72)` */
export function alertLine({ step, level, rule, text, resolved_step }: DiagnosedAlert): string {
  return `step ${step}: ${level} ${rule}: ${text}${resolved_step === undefined ? '' : ` (until step ${resolved_step})`}`;
}
