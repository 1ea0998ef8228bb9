// The types of the lines and files in a run directory.
import type { TrackedPlace } from '../logging.ts';
import type { Message } from '../message.ts';
import type { Example, GroupFate, GroupReason, StopReason } from '../rl.ts';

export const runStatuses = ['starting', 'running', 'completed', 'stopped', 'failed', 'interrupted'] as const;

/**
 * `starting` until the first file is written; `stopped` by a signal, with a checkpoint. Readers report `interrupted` if the process is gone without
 * a recorded end, because it was killed or ran out of memory; such a run can be resumed, like one that was stopped.
 */
export type RunStatus = (typeof runStatuses)[number];

/** run.json */
export interface RunRecord {
  /** The name of the directory. */
  readonly id: string;
  readonly backend: string;
  readonly status: RunStatus;
  /** The process that writes, or wrote, the run. */
  readonly pid: number;
  /** Distinguishes the process from others with the same id; absent if the system does not provide it. */
  readonly pid_start?: string;
  /** The absolute path of the directory when the run was last trained: if it has another now, its project has been moved. */
  readonly trained_in?: string;
  readonly versions: Readonly<Record<string, string>>;
  /** The SHA-256 hashes of the user's files that it runs or reads, by path. */
  readonly code?: Readonly<Record<string, string>>;
  /** The files that had changed when the run was resumed, now or before: what it measured is not all of the same kind. */
  readonly changed_files?: readonly string[];
  /** What was wrong with the latest checkpoints when the run was resumed from an earlier step. */
  readonly damaged_checkpoints?: readonly string[];
  /** ISO 8601. */
  readonly started: string;
  readonly ended?: string;
  /** The number of steps so far, and of all steps. */
  readonly step: number;
  readonly max_steps: number;
  /** The steps of each stage, if some have their length in epochs. */
  readonly stage_steps?: readonly number[];
  /** Why it was stopped: the name of a signal, or the caller's reason. */
  readonly stop_reason?: string;
  readonly verdict?: Verdict;
  /** Where trackers show the run, by their names. */
  readonly trackers?: Readonly<Record<string, TrackedPlaceRecord>>;
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
}

export interface TrackedPlaceRecord extends TrackedPlace {
  /** Why a part of the run has not arrived at the tracker. */
  readonly fault?: string;
}

/**
 * What the 95 % interval of a difference shows, given a margin within which differences do not matter: `improved` and `regressed`, it lies
 * beyond the margin; `flat`, it lies within; `inconclusive`, neither.
 */
export type Learning = 'improved' | 'flat' | 'regressed' | 'inconclusive';

/** The change of a quantity between the beginning and the end. */
export interface Change {
  readonly learning: Learning;
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  /** The 95 % interval of the difference. */
  readonly interval: readonly [low: number, high: number];
  readonly margin: number;
}

/** The change from the first to the last evaluation, compared problem by problem. */
export interface HeldOutChange extends Change {
  readonly metric: 'eval/sampled_accuracy' | 'eval/sampled_reward';
  readonly problems: number;
  readonly steps: readonly [first: number, last: number];
}

/** The mean reward of the first steps and of as many last ones. */
export interface RewardChange extends Change {
  /** The number of steps in the first and in the last window. */
  readonly window: number;
}

/** Whether the run has learnt: decided by held-out problems if they were evaluated at least twice, otherwise by the training reward. */
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
  /** The number of steps that the policy was trained for; 0 is the untrained policy. */
  readonly step: number;
  /** How many were asked: what accuracy and pass@k divide by. */
  readonly problems: number;
  /** How many greedy answers the first reward could judge; others are not correct. Absent in older records, which left such answers out of accuracy. */
  readonly judged?: number;
  readonly samples_per_problem: number;
  /** How many samples of all problems together it could judge. */
  readonly judged_samples?: number;
  /** The temperature of sampled completions. */
  readonly temperature: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** 95 % intervals of some of the metrics. */
  readonly intervals: Readonly<Record<string, readonly [low: number, high: number]>>;
  /** The fraction of correct samples of each problem; `null` if no completion of the evaluation could be judged. */
  readonly per_problem: readonly (number | null)[];
  /** The mean reward of each problem's samples. */
  readonly per_problem_reward?: readonly (number | null)[];
}

/** The completions of a problem in an evaluation: one that always takes the likeliest token, and those that were sampled. */
export type EvaluationPass = 'greedy' | 'samples';

/** A line of a file in evals/: a problem of an evaluation, with all completions. */
export interface EvaluatedProblem {
  /** The number of steps that the policy was trained for. */
  readonly step: number;
  /** The number of the problem in the evaluation, from 0. */
  readonly problem: number;
  /** The beginning of the SHA-256 hash of the problem's row: the same in every evaluation. */
  readonly id: string;
  readonly prompt: readonly Message[];
  /** The right answer, if the row has one. */
  readonly answer?: string;
  readonly example: Example;
  readonly greedy: EvaluatedCompletion;
  readonly samples: readonly EvaluatedCompletion[];
}

/** A line of an evaluation that is not finished: the completions of one pass. */
export type EvaluatedPart = Omit<EvaluatedProblem, EvaluationPass> & Partial<Pick<EvaluatedProblem, EvaluationPass>>;

export interface EvaluatedCompletion
  extends Omit<RolloutCompletion, 'opening' | 'advantage' | 'token_ids' | 'logprobs'> {
  /** 1 if the first reward gave it at least 1, else 0; `null` if that did not apply or failed. */
  readonly correct: number | null;
  /** The turns of the policy, and the tokens that it sampled in all of them. */
  readonly turns: number;
  readonly tokens: number;
  /** What rewards and the environment logged. */
  readonly reward_metrics?: Readonly<Record<string, number>> | undefined;
  readonly metrics?: Readonly<Record<string, number>> | undefined;
}

export type AlertLevel = 'error' | 'warning' | 'info';

/** A line of alerts.jsonl: a rule of run health that began to hold. */
export interface Alert {
  /** The step at which the rule began to hold. */
  readonly step: number;
  readonly level: AlertLevel;
  /** The id of the rule in docs/health.md. */
  readonly rule: string;
  /** The observation, with numbers. */
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
  /** All messages after the prompt, if the policy had several turns or called tools. */
  readonly messages?: readonly Message[];
  readonly stop_reason: StopReason;
  /** The error of the environment, where the stop reason is `error` or `timeout`. */
  readonly error?: string;
  /** The weighted sum; `null` if no reward applied or one failed. */
  readonly reward: number | null;
  readonly rewards: Readonly<Record<string, number | null>>;
  readonly errors?: Readonly<Record<string, string>>;
  readonly example: Example;
}

/** A line of a step's rollouts: one group. */
export interface RolloutRecord {
  readonly id: string;
  /** Whether it was trained on, and if not, whether another group replaced it. */
  readonly fate: GroupFate;
  /** The reason for this fate. */
  readonly reason: GroupReason;
  readonly example: Example;
  readonly prompt: readonly Message[];
  readonly prompt_ids: readonly number[];
  readonly completions: readonly RolloutCompletion[];
}

export interface RolloutCompletion {
  /** The text of the last turn; tokens are also those of the last turn. */
  readonly text: string;
  /** What the prompt had already written of that turn, such as `<think>\n`; absent if it opened no tag. */
  readonly opening?: string | undefined;
  /** All messages after the prompt, if the policy had several turns or called tools. */
  readonly messages?: readonly Message[] | undefined;
  readonly reward: number | null;
  readonly rewards: Readonly<Record<string, number | null>>;
  readonly errors?: Readonly<Record<string, string>> | undefined;
  /** Stack traces of failed rewards in the user's code, by the name of the reward. */
  readonly stacks?: Readonly<Record<string, string>> | undefined;
  /** What rewards saved with the completion. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  readonly advantage: number;
  readonly stop_reason: StopReason;
  /** The error of the environment, and its stack trace. */
  readonly error?: string | undefined;
  readonly stack?: string | undefined;
  readonly token_ids: readonly number[];
  /** The log-probability of each token at the temperature of sampling, before filters, with 7 significant digits. */
  readonly logprobs: readonly number[];
}

export interface FileFingerprint {
  readonly bytes: number;
  /** The CRC-32 checksum, as zlib computes it. */
  readonly crc32: number;
}

/** state.json of a checkpoint */
export interface CheckpointState {
  readonly step: number;
  /** The files of the model, with which a checkpoint is verified. */
  readonly files: Readonly<Record<string, FileFingerprint>>;
  /** The metric `num_tokens` of the step, of the whole run so far. */
  readonly num_tokens?: number;
  /** `DataLoader.state`, the position in the data. */
  readonly data?: unknown;
  /** `RewardWeights.state`, of weights that change. */
  readonly rewards?: unknown;
  /** The metric `save.best`, if it was measured at this step. */
  readonly metric?: { readonly name: string; readonly value: number };
}
