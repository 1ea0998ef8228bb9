// Schemas that several results share: the records of a run directory.
import { z } from 'zod';
import { type Message, roles } from '../../message.ts';
import { stopReasons } from '../../rl.ts';
import type { DiagnosedAlert } from '../../runs/health.ts';
import type { Pace } from '../../runs/pace.ts';
import {
  type Alert,
  type EvaluatedCompletion,
  type EvaluatedProblem,
  type EvaluationRecord,
  type RunRecord,
  runStatuses,
  type SampleRecord,
  type Verdict,
} from '../../runs/records.ts';
import type { TrainResult } from '../../training/train-result.ts';

/** Numbers by name. */
export const numbers = z.record(z.string(), z.number());

export const interval = z.tuple([z.number(), z.number()]).describe('the 95 % interval: low, high');

const learning = z.enum(['improved', 'flat', 'regressed', 'inconclusive']);

const change = {
  learning,
  before: z.number(),
  after: z.number(),
  difference: z.number(),
  interval: interval.describe('the 95 % interval of the difference'),
  margin: z.number().describe('differences within the margin do not count as a change'),
};

export const verdict: z.ZodType<Verdict> = z.strictObject({
  learning,
  basis: z.enum(['held_out', 'training_reward', 'none']).describe('what the verdict is based on'),
  reason: z.string().describe('one line with the numbers'),
  held_out: z
    .strictObject({
      ...change,
      metric: z.enum(['eval/sampled_accuracy', 'eval/sampled_reward']),
      problems: z.int(),
      steps: z.tuple([z.int(), z.int()]).describe('the steps of the first and the last evaluation'),
    })
    .exactOptional(),
  training_reward: z
    .strictObject({ ...change, window: z.int().describe('the number of steps in the first and in the last window') })
    .exactOptional(),
});

export const alertFields = {
  step: z.int().describe('the step at which the rule began to hold'),
  level: z.enum(['error', 'warning', 'info']),
  rule: z.string().describe('the name of the rule in docs/health.md'),
  text: z.string().describe('the observation, with numbers'),
  why: z.string(),
  suggestion: z.string(),
};

export const alert: z.ZodType<Alert> = z.strictObject(alertFields);

export const diagnosedAlert: z.ZodType<DiagnosedAlert> = z.strictObject({
  ...alertFields,
  resolved_step: z.int().exactOptional().describe('the step at which the alert ended; absent if it has not'),
});

const toolCall = z.strictObject({
  id: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  argumentsText: z
    .string()
    .exactOptional()
    .describe('the arguments as JSON with the numbers that the model wrote, where JavaScript would write others'),
});

export const message: z.ZodType<Message> = z.strictObject({
  role: z.enum(roles),
  content: z.string(),
  name: z.string().exactOptional(),
  reasoningContent: z.string().exactOptional(),
  toolCalls: z.array(toolCall).exactOptional(),
  toolCallId: z.string().exactOptional(),
});

const failureRecord = z.strictObject({ code: z.string(), message: z.string(), hint: z.string().exactOptional() });

const status = z.enum(runStatuses).describe('interrupted: the process ended without reporting a reason');

export const preflightWarnings = z
  .array(z.strictObject({ id: z.string(), detail: z.string(), hint: z.string() }))
  .exactOptional();

export const changedFiles = z
  .array(z.string())
  .exactOptional()
  .describe('files of rewards, environments, data and models that have changed; absent if none has');

export const damagedCheckpoints = z
  .array(z.string())
  .exactOptional()
  .describe('what is wrong with later checkpoints, whose steps are made again; absent if nothing is');

/** run.json, with its path. */
const runFields = {
  id: z.string().describe('the name of the directory'),
  dir: z.string(),
  backend: z.string(),
  status,
  pid: z.int().describe('the process that writes or wrote the run'),
  pid_start: z.string().exactOptional().describe('distinguishes the process from a later one with the same id'),
  trained_in: z
    .string()
    .exactOptional()
    .describe('the absolute path of dir when the run was last trained; another one, if its project has been moved'),
  versions: z.record(z.string(), z.string()),
  code: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe('the SHA-256 hashes of files of rewards, environments, data and models, by path'),
  changed_files: z
    .array(z.string())
    .exactOptional()
    .describe('the files that had changed when the run was resumed, now or before'),
  damaged_checkpoints: z
    .array(z.string())
    .exactOptional()
    .describe('what was wrong with the latest checkpoints when the run was resumed from an earlier step'),
  started: z.iso.datetime(),
  ended: z.iso.datetime().exactOptional(),
  step: z.int().describe('the number of steps so far'),
  max_steps: z.int(),
  stage_steps: z.array(z.int()).exactOptional().describe('of each stage, if some have their length in epochs'),
  stop_reason: z.string().exactOptional(),
  verdict: verdict.exactOptional(),
  trackers: z
    .record(
      z.string(),
      z.strictObject({
        url: z.string().describe('a folder or an address'),
        id: z.string().exactOptional().describe('what the tracker calls the run'),
        fault: z.string().exactOptional().describe('why not everything has arrived there'),
      }),
    )
    .exactOptional()
    .describe('where trackers show the run, by their names'),
  error: failureRecord.exactOptional(),
};

export const runWithDirectory: z.ZodType<RunRecord & { readonly dir: string }> = z.strictObject(runFields);

/** How long the steps of a run take. */
export const pace: z.ZodType<Pace> = z
  .strictObject({
    steps: z.number().describe('all steps together'),
    per_step: z.number().describe('the mean of the last ones'),
    left: z.number().exactOptional().describe('what the remaining steps will take; absent if the run is over'),
  })
  .describe(
    'seconds of training, without evaluations, samples and checkpoints between steps; absent before the first step',
  );

const window = { before: z.number(), after: z.number() };

/** A run in lists and comparisons. */
export const runSummaryFields = {
  ...runFields,
  model: z.string().nullable(),
  reward: z
    .strictObject({ ...window, window: z.int() })
    .exactOptional()
    .describe('the mean over the first steps, and over as many last steps'),
  alerts: z
    .strictObject({ error: z.int(), warning: z.int(), info: z.int() })
    .describe('the number of alerts that have not ended'),
};

export const comparedRun = z.strictObject({
  ...runSummaryFields,
  metrics: z
    .record(z.string(), z.strictObject(window))
    .describe('means over the first and the last window, of metrics that every run has'),
  time: pace.exactOptional(),
  learning,
  accuracy: z
    .strictObject({ step: z.int(), value: z.number(), interval })
    .exactOptional()
    .describe('eval/sampled_accuracy at the last evaluation'),
});

export const runSummary: z.ZodType<TrainResult['run']> = z.strictObject({
  id: z.string(),
  dir: z.string(),
  backend: z.string(),
  status,
  step: z.int(),
});

/** The run and the step of the checkpoint that was opened. */
export const openedRun = z.strictObject({ dir: z.string(), step: z.int() });

/** The fields of an evaluation, which events have as well. */
export const evaluationFields = {
  step: z.int().describe('the number of steps that the policy was trained for; 0 is the untrained policy'),
  problems: z.int().describe('how many were asked: what accuracy and pass@k divide by'),
  judged: z
    .int()
    .exactOptional()
    .describe('how many greedy answers the first reward could judge; others are not correct'),
  samples_per_problem: z.int(),
  judged_samples: z.int().exactOptional().describe('how many samples of all problems together it could judge'),
  temperature: z.number(),
  metrics: numbers,
  intervals: z.record(z.string(), interval),
  per_problem: z
    .array(z.number().nullable())
    .describe('for each problem the fraction of correct samples; null if no completion could be judged'),
  per_problem_reward: z
    .array(z.number().nullable())
    .exactOptional()
    .describe('for each problem the mean reward of its samples'),
};

export const evaluationRecord: z.ZodType<EvaluationRecord> = z.strictObject(evaluationFields);

/** An evaluation whose completions were kept. */
export const keptEvaluation = z.strictObject({
  name: z.string().describe('its step, with a hash of its settings if gradus eval made it'),
  step: z.int().describe('the step of the checkpoint'),
  command: z.enum(['train', 'eval']).describe('what made it'),
  status: z
    .enum(['finished', 'interrupted'])
    .describe('interrupted: the same gradus eval, or train --resume, goes on; or it is being made'),
  path: z.string().describe('a file with one line per problem, once it is finished'),
  result: z
    .strictObject({
      split: z.enum(['eval', 'train']),
      evaluation: evaluationRecord,
      baseline: evaluationRecord.exactOptional(),
      verdict: verdict.exactOptional(),
    })
    .exactOptional()
    .describe('what gradus eval found'),
});

export const stopReason = z.enum(stopReasons);

/** The messages after the prompt, in episodes of several turns or with calls of tools. */
export const exchanged = z
  .array(message)
  .exactOptional()
  .describe('all messages after the prompt, if the policy had several turns or called tools');

/** A line of metrics.jsonl or timings.jsonl. */
export const stepRecord = z.object({ step: z.int() }).catchall(z.number());

export const sampleRecord: z.ZodType<SampleRecord> = z.strictObject({
  step: z.int(),
  prompt: z.array(message),
  completion: z.string(),
  messages: exchanged,
  stop_reason: stopReason,
  error: z.string().exactOptional().describe('of the environment, where the stop reason is error or timeout'),
  reward: z.number().nullable().describe('the weighted sum; null if no reward applied or one failed'),
  rewards: z.record(z.string(), z.number().nullable()),
  errors: z.record(z.string(), z.string()).exactOptional(),
  example: z.record(z.string(), z.unknown()).describe('the row of the data set'),
});

const scores = z.record(z.string(), z.number().nullable());

const texts = z.record(z.string(), z.string()).exactOptional();

const evaluatedCompletion: z.ZodType<EvaluatedCompletion> = z.strictObject({
  text: z.string().describe('of the last turn'),
  messages: exchanged,
  correct: z.number().nullable().describe('1 if the first reward is at least 1, else 0; null if it was not judged'),
  reward: z.number().nullable().describe('the weighted sum; null if no reward applied or one failed'),
  rewards: scores,
  errors: texts,
  stacks: texts,
  extra: z.record(z.string(), z.unknown()).exactOptional().describe('what rewards saved'),
  reward_metrics: numbers.exactOptional().describe('what rewards logged'),
  metrics: numbers.exactOptional().describe('what the environment logged'),
  stop_reason: stopReason,
  error: z.string().exactOptional(),
  stack: z.string().exactOptional(),
  turns: z.int(),
  tokens: z.int().describe('sampled in all turns'),
});

/** A line of a file in evals/. */
export const evaluatedProblem: z.ZodType<EvaluatedProblem> = z.strictObject({
  step: z.int().describe('0 is the policy that training started from'),
  problem: z.int().describe('the number of the problem, from 0'),
  id: z.string().describe('a hash of the row'),
  prompt: z.array(message),
  answer: z.string().exactOptional().describe('the right answer, if the row has one'),
  example: z.record(z.string(), z.unknown()).describe('the row of the data set'),
  greedy: evaluatedCompletion,
  samples: z.array(evaluatedCompletion),
});
