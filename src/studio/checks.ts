// The result of one check that is made before a run.

export type CheckLevel = 'error' | 'warning' | 'info';

export interface Check {
  readonly id: string;
  readonly ok: boolean;
  /** The severity if it is not ok: `error` stops training, `warning` does not; `info` if it is ok or merely worth knowing. */
  readonly level: CheckLevel;
  /** What was found, with numbers, in one line. */
  readonly detail: string;
  /** What to do about it, if it is not ok. */
  readonly hint?: string;
}

export function passed(id: string, detail: string): Check {
  return { id, ok: true, level: 'info', detail };
}

export function failed(id: string, level: 'error' | 'warning', detail: string, hint: string): Check {
  return { id, ok: false, level, detail, hint };
}

/** The first check that stops training, if there is one. */
export function blocking(checks: readonly Check[]): Check | undefined {
  return checks.find(isBlocking);
}

export function isBlocking({ ok, level }: Check): boolean {
  return !ok && level === 'error';
}

/** `3 of 8 (38 %)` */
export function share(part: number, whole: number): string {
  return whole === 0 ? '0 of 0' : `${part} of ${whole} (${Math.round((100 * part) / whole)} %)`;
}

/** A number in three digits. */
export function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
