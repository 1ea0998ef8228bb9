// What training tells while it goes on: the lines of events.jsonl and of `--events`.
import type { Alert, EvaluationRecord, SampleRecord } from '../runs/records.ts';
import type { Check } from './checks.ts';

/** How far a download is that has to come first. The command tells it; there is no run yet that it could be kept with. */
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
  | { readonly type: 'stop'; readonly step: number; readonly reason: string };

/** An event as it is kept and told: with the time it happened, in ISO 8601. */
export type TimedEvent = { readonly time: string } & TrainEvent;

/** The first of a run, unless preflight was left out: nothing has been trained yet. */
export interface PreflightEvent {
  readonly type: 'preflight';
  readonly step: 0;
  readonly checks: readonly Check[];
  readonly metrics: Readonly<Record<string, number>>;
}

export interface StartEvent {
  readonly type: 'start';
  readonly run: { readonly id: string; readonly dir: string; readonly backend: string };
  /** The step that it goes on from; 0 for a new run. */
  readonly step: number;
  readonly max_steps: number;
  readonly parameters: { readonly total: number; readonly trainable: number };
  readonly problems: { readonly train: number; readonly eval: number };
  /** Files of rewards and environments that are not what they were when the run stopped; absent where there are none. */
  readonly changed_files?: readonly string[];
}

/** A stage begins, or goes on in a run that is resumed. */
export interface StageEvent {
  readonly type: 'stage';
  /** Steps made so far, in all stages. */
  readonly step: number;
  readonly name: string;
  readonly method: 'grpo' | 'sft';
  /** Its number, counted from 1; steps have it as the metric `stage`. */
  readonly stage: number;
  readonly steps: number;
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
