// The protocol of trackers: where else than in its own files a run's progress can be followed.
import type { Metrics, MetricsLogger, TrackedPlace } from '../logging.ts';

/**
 * Takes what a run reports and returns at once, whatever becomes of it: a tracker that fails never fails the run, and says so in `fault`.
 * Metrics have the run's names; a tracker changes them where it must.
 */
export interface Tracker extends MetricsLogger {
  readonly place: TrackedPlace;
  /** Why not everything has arrived; undefined while everything has, or is on its way. */
  readonly fault: string | undefined;
  /** @param time in milliseconds since 1970 @default now */
  log(step: number, metrics: Metrics, time?: number): void;
  /** @param text Markdown */
  text(step: number, name: string, text: string, time?: number): void;
  /** Returns when everything has arrived, or when waiting longer seems useless. */
  settle(): Promise<void>;
  /** Says how the run ended. Nothing may be logged afterwards. */
  close(end?: TrackedEnd): Promise<void>;
}

export interface TrackedRun {
  readonly name: string;
  /** The folder of a tracker that writes files. */
  readonly folder: string;
  /** Settings by dotted key. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The step that the run goes on from; 0 for a new one. */
  readonly step: number;
  /** Where an earlier part of the run was tracked. */
  readonly previous?: TrackedPlace;
}

export interface TrackedEnd {
  readonly status: 'completed' | 'stopped' | 'failed';
  /** One line about what came of it. */
  readonly note?: string;
  /** Paths of files worth keeping with the metrics. */
  readonly files: readonly string[];
}

/** The environment variables, from which trackers take addresses and credentials. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks that a tracker can be reached, before anything costly is opened, and returns what starts to track a run.
 * Throws a `GradusError` if it cannot.
 */
export type ConnectTracker = (environment: Environment, signal?: AbortSignal) => Promise<StartTracking>;

/** Throws a `GradusError` if it fails. */
export type StartTracking = (run: TrackedRun) => Promise<StartedTracker>;

export interface StartedTracker {
  readonly tracker: Tracker;
  /** Whether the tracker has none of the run's earlier steps. */
  readonly fresh: boolean;
}
