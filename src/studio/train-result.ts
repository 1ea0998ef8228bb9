// What a training run comes to: the object that `--json` prints and result.json keeps.
import { readEvaluations, readMetrics } from '../runs/read-run.ts';
import type { EvaluationRecord, RunRecord, Verdict } from '../runs/records.ts';
import { bootstrapInterval, mean } from '../intervals.ts';

export interface TrainResult {
  readonly ok: boolean;
  readonly schema: 'train.result/1';
  readonly command: 'train';
  readonly run: {
    readonly id: string;
    readonly dir: string;
    readonly backend: string;
    readonly status: RunRecord['status'];
    readonly step: number;
  };
  /**
   * The last step's metrics, and over all: `mean_reward` (of the last 10 steps), `final_success_rate` and `random_baseline` (sampled
   * accuracy on held-out problems at the end, and of the policy that training started from) and `lift`, their difference.
   */
  readonly metrics: Readonly<Record<string, number>>;
  readonly evals: readonly EvaluationRecord[];
  /** Absent where nothing was held out and evaluated twice. */
  readonly verdict?: Verdict;
  readonly artifacts: Readonly<Record<string, string>>;
  /** Commands worth running now. */
  readonly next: readonly string[];
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

/** Differences within this are too small to matter. */
const margin = 0.05;
/** Even without a single difference among n problems, up to 3 / n of all problems may differ (the rule of three). */
const fewestForFlat = 3 / margin;
const lastSteps = 10;

export interface TrainResultOptions {
  readonly directory: string;
  readonly record: RunRecord;
  /** Names and paths of what the run left behind. */
  readonly artifacts: Readonly<Record<string, string>>;
  /** How a command refers to the run. */
  readonly reference: string;
}

export function trainResult({ directory, record, artifacts, reference }: TrainResultOptions): TrainResult {
  const evals = readEvaluations(directory);
  const verdict = learningVerdict(evals);
  const stopped = record.status === 'stopped';
  return {
    ok: !stopped,
    schema: 'train.result/1',
    command: 'train',
    run: { id: record.id, dir: directory, backend: record.backend, status: record.status, step: record.step },
    metrics: { ...trainingMetrics(directory), ...evaluationSummary(evals) },
    evals,
    ...(verdict && { verdict }),
    artifacts,
    next: [`gradus eval ${reference}`, `gradus sample ${reference} --n 8`],
    ...(stopped && {
      error: {
        code: 'RUN_STOPPED',
        message: `stopped by ${record.stop_reason} at step ${record.step} of ${record.max_steps}`,
        hint: 'give the same command with --resume to go on',
      },
    }),
  };
}

/** Compares the first evaluation with the last, on the problems that both could judge. */
export function learningVerdict(evals: readonly EvaluationRecord[]): Verdict | undefined {
  const [first, last] = [evals[0], evals.at(-1)];
  if (!first || !last || first === last || first.per_problem.length !== last.per_problem.length) return undefined;
  const differences = last.per_problem.flatMap((after, i) => {
    const before = first.per_problem[i];
    return after === null || before === null || before === undefined ? [] : [after - before];
  });
  if (differences.length === 0) return undefined;
  const interval = bootstrapInterval(differences);
  const [low, high] = interval;
  const isFlat = low > -margin && high < margin && differences.length >= fewestForFlat;
  const learning = low > margin ? 'improved' : high < -margin ? 'regressed' : isFlat ? 'flat' : 'inconclusive';
  return { learning, difference: mean(differences), interval, problems: differences.length };
}

function trainingMetrics(directory: string): Record<string, number> {
  const steps = readMetrics(directory);
  const { step: _, ...last } = steps.at(-1) ?? { step: 0 };
  const rewards = steps.slice(-lastSteps).flatMap(({ reward }) => reward ?? []);
  return { ...last, ...(rewards.length > 0 && { mean_reward: mean(rewards) }) };
}

function evaluationSummary(evals: readonly EvaluationRecord[]): Record<string, number> {
  const accuracy = (record: EvaluationRecord | undefined) => record?.metrics['eval/sampled_accuracy'];
  const before = accuracy(evals.find(({ step }) => step === 0));
  const after = accuracy(evals.at(-1));
  return {
    ...(after !== undefined && { final_success_rate: after }),
    ...(before !== undefined && { random_baseline: before }),
    ...(before !== undefined && after !== undefined && { lift: after - before }),
  };
}
