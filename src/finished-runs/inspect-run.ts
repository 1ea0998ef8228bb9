// Reads the state of a run from its directory; the run may still be training.
import type { Config } from '../config/schema.ts';
import { healthMonitor, openAlerts } from '../runs/health.ts';
import { readPace } from '../runs/pace.ts';
import { isConfigured, readEvaluations, readMetrics, readResolvedConfig, readRun } from '../runs/read-run.ts';
import type { DiagnosedAlert, EvaluationRecord, MetricsRecord, Pace, RunRecord, Verdict } from '../runs/records.ts';
import { learningVerdict, metricWindows } from '../runs/verdict.ts';
import { healthSettings } from '../training/health-settings.ts';
import type { RunSummary } from './comparison-schema.ts';

/** The state of a run, as read from its directory. */
export interface InspectedRun {
  readonly directory: string;
  readonly record: RunRecord;
  /** Absent while the run is starting. */
  readonly config?: Config;
  readonly metrics: readonly MetricsRecord[];
  readonly evaluations: readonly EvaluationRecord[];
  readonly alerts: readonly DiagnosedAlert[];
  readonly verdict: Verdict;
  /** Absent before the first step. */
  readonly time?: Pace;
}

/** Throws `RUN_NOT_FOUND`. */
export function inspectRun(directory: string): InspectedRun {
  const record = readRun(directory);
  const config = isConfigured(directory) ? (readResolvedConfig(directory) as Config) : undefined;
  const metrics = readMetrics(directory);
  const evaluations = readEvaluations(directory);
  const time = readPace(directory, record);
  return {
    directory,
    record,
    metrics,
    evaluations,
    ...(config && { config }),
    alerts: healthMonitor(metrics, evaluations, config ? healthSettings(config) : {}).alerts,
    verdict: learningVerdict(metrics, evaluations, record.changed_files),
    ...(time && { time }),
  };
}

/** The row of a run in `runs list`. */
export function summarizeRun(run: InspectedRun): RunSummary {
  const reward = metricWindows(run.metrics, 'reward');
  return {
    ...run.record,
    dir: run.directory,
    model: run.config?.model ?? null,
    ...(reward && { reward }),
    alerts: openAlerts(run.alerts),
  };
}
