// The events of training: the lines of events.jsonl and of `--events`. A key has one type in all of them, since readers of tables want that.

import type { Check } from '../checks/checks.ts';
import type { Metrics } from '../logging.ts';
import type { Alert, EvaluationRecord, SampleRecord } from '../runs/records.ts';

/** The progress of a download before the run. It is emitted, but not recorded, since there is no run directory yet. */
export interface DownloadEvent {
  readonly type: 'download';
  /** `model org/name`. */
  readonly what: string;
  readonly files: number;
  readonly bytes: number;
  readonly total_bytes: number;
  readonly folder: string;
}

export type TrainEvent =
  | PreflightEvent
  | StartEvent
  | StageEvent
  | StepEvent
  | ({ readonly type: 'evaluation' } & EvaluationRecord)
  | ({ readonly type: 'alert' } & Alert)
  | { readonly type: 'samples'; readonly step: number; readonly samples: readonly SampleRecord[] }
  | { readonly type: 'checkpoint'; readonly step: number; readonly directory: string; readonly best: boolean }
  | TrackerEvent
  | { readonly type: 'stop'; readonly step: number; readonly reason: string };

/** An event as it is recorded and emitted, with its time in ISO 8601. */
export type TimedEvent = { readonly time: string } & TrainEvent;

/** The first event of a run, before any training; absent if preflight was skipped. */
export interface PreflightEvent {
  readonly type: 'preflight';
  readonly step: 0;
  readonly checks: readonly Check[];
  readonly metrics: Readonly<Record<string, number>>;
}

export interface StartEvent {
  readonly type: 'start';
  readonly run: { readonly id: string; readonly dir: string; readonly backend: string };
  /** The step that the run continues from; 0 for a new run. */
  readonly step: number;
  readonly max_steps: number;
  readonly parameters: { readonly total: number; readonly trainable: number };
  /** The type of the weights that completions are sampled with, adapters aside: what `native.rollout_dtype: auto` chose. Absent if the engine decides. */
  readonly rollout_dtype?: string;
  readonly train_problems: number;
  readonly eval_problems: number;
  /** Files of rewards, environments, data and models that have changed since the run stopped; absent if none has. */
  readonly changed_files?: readonly string[];
  /** What is wrong with later checkpoints, whose steps are repeated; absent if nothing is. */
  readonly damaged_checkpoints?: readonly string[];
}

/** A stage begins, or continues in a resumed run. */
export interface StageEvent {
  readonly type: 'stage';
  /** Steps made so far, in all stages. */
  readonly step: number;
  readonly name: string;
  readonly method: 'grpo' | 'sft';
  /** The number of the stage, starting at 1; the metric `stage` of its steps is the same number. */
  readonly stage: number;
  readonly steps: number;
}

/** A tracker has begun to fail, which does not affect the run. An event without a fault says that everything has arrived after all. */
export interface TrackerEvent {
  readonly type: 'tracker';
  readonly step: number;
  readonly tracker: string;
  readonly fault?: string;
}

export interface StepEvent {
  readonly type: 'step';
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** Seconds. */
  readonly timings: Readonly<Record<string, number>>;
  /** Tokens that the policy sampled. */
  readonly tokens: number;
}

/** The metrics of a step's speed, over the whole time that it took; empty if the policy sampled no tokens. */
export function speed({ tokens, timings }: Pick<StepEvent, 'tokens' | 'timings'>): Metrics {
  return tokens > 0 && timings.step_time ? { tokens_per_second: tokens / timings.step_time } : {};
}
