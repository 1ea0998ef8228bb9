// The types of the lines and files in a run directory.
import type { Message } from '../message.ts';
import type { Example, GroupFate, GroupReason, StopReason } from '../rl.ts';

/**
 * `starting` until the first file is written; `stopped` by a signal, with a checkpoint; `interrupted` is what readers say of a run
 * whose process is gone without having said why: killed, or out of memory. It can be resumed, like one that was stopped.
 */
export type RunStatus = 'starting' | 'running' | 'completed' | 'stopped' | 'failed' | 'interrupted';

/** run.json */
export interface RunRecord {
  /** The name of the directory. */
  readonly id: string;
  readonly backend: string;
  readonly status: RunStatus;
  /** The process that writes, or wrote, the run. */
  readonly pid: number;
  /** Tells the process from another with the same id; absent where the system does not say. */
  readonly pid_start?: string;
  readonly versions: Readonly<Record<string, string>>;
  /** SHA-256 of the user's files that it runs, by their paths. */
  readonly code?: Readonly<Record<string, string>>;
  /** Those of them that had changed when the run went on. */
  readonly changed_files?: readonly string[];
  /** ISO 8601. */
  readonly started: string;
  readonly ended?: string;
  /** Steps made, and steps to make. */
  readonly step: number;
  readonly max_steps: number;
  /** What stopped it: a signal's name, or whatever the caller gave as the reason. */
  readonly stop_reason?: string;
  readonly verdict?: Verdict;
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
}

/**
 * What the 95 % interval of a difference shows, given a margin within which differences do not matter: `improved` and `regressed`, it lies
 * beyond the margin; `flat`, it lies within; `inconclusive`, neither.
 */
export type Learning = 'improved' | 'flat' | 'regressed' | 'inconclusive';

/** A quantity at the beginning and at the end. */
export interface Change {
  readonly learning: Learning;
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  /** 95 %, of the difference. */
  readonly interval: readonly [low: number, high: number];
  readonly margin: number;
}

/** The first evaluation and the last, problem by problem. */
export interface HeldOutChange extends Change {
  readonly metric: 'eval/sampled_accuracy' | 'eval/sampled_reward';
  readonly problems: number;
  readonly steps: readonly [first: number, last: number];
}

/** The mean reward of the first steps and of as many last ones. */
export interface RewardChange extends Change {
  /** Steps at either end. */
  readonly window: number;
}

/** Whether the run has learnt. Held-out problems decide where they were evaluated twice, else the training reward, else nothing does. */
export interface Verdict {
  readonly learning: Learning;
  readonly basis: 'held_out' | 'training_reward' | 'none';
  /** One line with the numbers. */
  readonly reason: string;
  readonly held_out?: HeldOutChange;
  readonly training_reward?: RewardChange;
}

/** A line of metrics.jsonl or timings.jsonl: the step, then numbers by name. */
export type MetricsRecord = { readonly step: number } & Readonly<Record<string, number>>;

/** A line of evals.jsonl */
export interface EvaluationRecord {
  /** Steps that the evaluated policy had learnt for; 0 is the untrained one. */
  readonly step: number;
  readonly problems: number;
  readonly samples_per_problem: number;
  /** Of the sampled completions. */
  readonly temperature: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** 95 % intervals of some of the metrics. */
  readonly intervals: Readonly<Record<string, readonly [low: number, high: number]>>;
  /** For each problem the fraction of its samples that are correct; `null` where none could be judged. */
  readonly per_problem: readonly (number | null)[];
  /** For each problem the mean reward of its samples. */
  readonly per_problem_reward?: readonly (number | null)[];
}

export type AlertLevel = 'error' | 'warning' | 'info';

/** A line of alerts.jsonl: a rule of run health that began to hold. */
export interface Alert {
  /** The last step that was looked at when it began. */
  readonly step: number;
  readonly level: AlertLevel;
  /** Of the table in docs/health.md. */
  readonly rule: string;
  /** What was seen, in numbers. */
  readonly text: string;
  readonly why: string;
  /** What to change. */
  readonly suggestion: string;
}

/** A line of samples.jsonl */
export interface SampleRecord {
  readonly step: number;
  readonly prompt: readonly Message[];
  readonly completion: string;
  /** All that was said behind the prompt, where the policy had several turns. */
  readonly messages?: readonly Message[];
  readonly stop_reason: StopReason;
  /** The weighted sum; `null` if no reward applied or one failed. */
  readonly reward: number | null;
  readonly rewards: Readonly<Record<string, number | null>>;
  readonly errors?: Readonly<Record<string, string>>;
  readonly example: Example;
}

/** A line of a step's rollouts: one group. */
export interface RolloutRecord {
  readonly id: string;
  /** Whether it was learnt from; if not, whether another was sampled in its place. */
  readonly fate: GroupFate;
  /** Why. */
  readonly reason: GroupReason;
  readonly example: Example;
  readonly prompt: readonly Message[];
  readonly prompt_ids: readonly number[];
  readonly completions: readonly RolloutCompletion[];
}

export interface RolloutCompletion {
  /** What the last turn said; tokens are that turn's, too. */
  readonly text: string;
  /** All that was said behind the prompt, where the policy had several turns. */
  readonly messages?: readonly Message[];
  readonly reward: number | null;
  readonly rewards: Readonly<Record<string, number | null>>;
  readonly errors?: Readonly<Record<string, string>>;
  /** Where rewards failed, in the user's code, by their names. */
  readonly stacks?: Readonly<Record<string, string>>;
  /** What rewards wanted kept beside it. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly advantage: number;
  readonly stop_reason: StopReason;
  /** What went wrong in the environment, and where. */
  readonly error?: string;
  readonly stack?: string;
  readonly token_ids: readonly number[];
  /** Of each token, under the distribution it was sampled from; 7 significant digits, as many as it has. */
  readonly logprobs: readonly number[];
}

export interface FileFingerprint {
  readonly bytes: number;
  /** As zlib computes it. */
  readonly crc32: number;
}

/** state.json of a checkpoint */
export interface CheckpointState {
  readonly step: number;
  /** The model's files, by which a checkpoint is known to be what was written. */
  readonly files: Readonly<Record<string, FileFingerprint>>;
  /** Where the data loader was: `DataLoader.state`. */
  readonly data?: unknown;
  /** What adaptive weights have seen: `RewardWeights.state`. */
  readonly rewards?: unknown;
  /** What `save.best` compares, where it was measured at this step. */
  readonly metric?: { readonly name: string; readonly value: number };
}
