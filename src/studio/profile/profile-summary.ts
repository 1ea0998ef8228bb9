// Summarises recorded steps: time and memory by phase, and by kind of operator within sessions.
import type { SessionRun } from '../../runtime/recording.ts';
import type { Phase } from '../../training.ts';

export interface RecordedStep {
  readonly step: number;
  readonly phases: readonly Phase[];
  readonly runs: readonly SessionRun[];
  readonly memory: readonly MemorySample[];
}

/** Resident memory of the process. */
export interface MemorySample {
  /** By `performance.now()`. */
  readonly time: number;
  readonly bytes: number;
}

/** All times are milliseconds. */
export interface PhaseSummary {
  milliseconds: number;
  /** What of it sessions ran for. */
  sessions: number;
  /** What of it profiles were written for. */
  recording: number;
  /** The most memory that was seen; absent where the phase was too short to be looked at. */
  peakBytes?: number;
}

export interface SessionSummary {
  runs: number;
  milliseconds: number;
  readonly operators: Map<string, OperatorSummary>;
}

export interface OperatorSummary {
  count: number;
  milliseconds: number;
  /** Put out. */
  bytes: number;
}

/** Sums over all steps that were added. */
export class ProfileSummary {
  readonly steps: number[] = [];
  readonly phases = new Map<Phase['name'], PhaseSummary>();
  readonly sessions = new Map<string, SessionSummary>();

  add({ step, phases, runs, memory }: RecordedStep): void {
    this.steps.push(step);
    for (const phase of phases) this.#addPhase(phase, memory);
    for (const run of runs) this.#addRun(run, phases);
  }

  #addPhase({ name, start, milliseconds }: Phase, memory: readonly MemorySample[]): void {
    const summary = at(this.phases, name, (): PhaseSummary => ({ milliseconds: 0, sessions: 0, recording: 0 }));
    summary.milliseconds += milliseconds;
    const seen = memory.filter(({ time }) => time >= start && time <= start + milliseconds);
    if (seen.length > 0) summary.peakBytes = Math.max(summary.peakBytes ?? 0, ...seen.map(({ bytes }) => bytes));
  }

  #addRun({ session, start, milliseconds, runMilliseconds, operators }: SessionRun, phases: readonly Phase[]): void {
    const phase = this.phases.get(phases.findLast((phase) => phase.start <= start)!.name)!;
    phase.sessions += runMilliseconds;
    phase.recording += milliseconds - runMilliseconds;
    const summary = at(this.sessions, session, () => ({ runs: 0, milliseconds: 0, operators: new Map() }));
    summary.runs++;
    summary.milliseconds += runMilliseconds;
    for (const { operator, milliseconds, bytes } of operators) {
      const kind = at(summary.operators, operator, () => ({ count: 0, milliseconds: 0, bytes: 0 }));
      kind.count++;
      kind.milliseconds += milliseconds;
      kind.bytes += bytes;
    }
  }
}

function at<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}
