// Trains a model according to a configuration.
import { join } from 'node:path';
import { z } from 'zod';
import type { Profiler } from '../backends/backend.ts';
import { backendOf } from '../backends/backends.ts';
import { assertPassed, type PreflightReport, preflight, preflightWithoutSamples } from '../checks/preflight.ts';
import { stopReasonOf } from '../common/cancellation.ts';
import { option } from '../common/words.ts';
import { assertValid } from '../config/call-options.ts';
import { loadConfigObject } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { stagesOf } from '../config/stages.ts';
import { type ProgramConfig, withoutValues } from '../data/program-values.ts';
import { GradusError } from '../errors.ts';
import type { EvaluationProgress } from '../evaluation/evaluation-options.ts';
import type { StepProfile } from '../profile/step-profile.ts';
import { runFiles } from '../runs/layout.ts';
import { runArtifacts } from '../runs/read-run.ts';
import { failureOf } from '../runs/recorded-error.ts';
import type { RunRecord } from '../runs/records.ts';
import { endIfReserved } from '../runs/reservation.ts';
import type { RunStore } from '../runs/run-store.ts';
import { storageError } from '../runs/storage-error.ts';
import { openConfigFile } from '../setup/config-file.ts';
import { openSetup, type Setup } from '../setup/setup.ts';
import { readStartAdapter, withOwnAdapter } from '../setup/start-adapter-copy.ts';
import type { TimedEvent } from '../training/event-schemas.ts';
import { assertWritable, openRun } from '../training/open-run.ts';
import { recorded } from '../training/record-events.ts';
import { type LoadedTraining, type ResolvedRun, type RunPlace, resolveRun } from '../training/resolved-run.ts';
import type { TrainResult } from '../training/result-schema.ts';
import type { Tracking } from '../training/tracking.ts';
import { type SayNext, trainResult } from '../training/train-result.ts';
import { TrainingRun } from '../training/training-run.ts';

export interface TrainOptions extends RunPlace {
  /** Changes to the configuration, such as `lora.r=8`. */
  readonly settings?: readonly string[];
  /** Stops the run after its current work and writes a checkpoint. The reason is recorded. */
  readonly signal?: AbortSignal | undefined;
  /** Conditions on the results, such as `mean_reward>=0.5`. If one is not met, the result has `ok: false`. */
  readonly require?: readonly string[];
  /** Whether to check a new run for problems before training; a resumed run has been checked. @default true */
  readonly preflight?: boolean;
  /** Whether to accept the cost in the plan, if a machine is rented. @default false */
  readonly yes?: boolean;
  /** Whether to record where the first few steps spend time and memory, which makes them slower. @default false */
  readonly profile?: boolean;
  readonly onEvent?: (event: TimedEvent) => void;
  /** Called as the problems of an evaluation are answered. */
  readonly onEvaluation?: (progress: EvaluationProgress) => void;
  /** What the result suggests in its `next`, in your words. @default nothing */
  readonly next?: SayNext;
}

/**
 * Trains to the end, or until the signal is aborted. The result of a run that was stopped has `ok: false`.
 *
 * ```ts
 * const short: RewardFunction = ({ completions }) => completions.map((text) => -text.length);
 * const result = await train({ model: './models/tiny', dataset: rows, reward: ['numeric_match', short] }, { name: 'first' });
 * ```
 *
 * @param config the path of a config file, or its contents, in which rows, functions and environments may replace their names
 */
export async function train(config: string | ProgramConfig, options: TrainOptions = {}): Promise<TrainResult> {
  const events = trainEvents(config, options);
  try {
    for (;;) {
      const { done, value } = await events.next();
      if (done) return value;
      options.onEvent?.(value);
    }
  } finally {
    // If the listener throws, the run ends as if the consumer had left the loop over its events.
    await events.return(undefined as never);
  }
}

/** Like `train`, as a stream of events that returns the result. Leaving the loop stops the run without a checkpoint. */
export async function* trainEvents(
  config: string | ProgramConfig,
  options: TrainOptions = {},
): AsyncGenerator<TimedEvent, TrainResult> {
  assertOptions(options);
  const loaded = loadConfig(config, options.settings);
  const run = resolveRun(loaded, options, options.require);
  const isRented = run.config.compute === 'modal';
  if (isRented) {
    const { assertConfirmed } = await import('../modal/rental.ts');
    assertConfirmed(run, options.yes ?? false);
  }
  assertWritable(run);
  try {
    const profiler = options.profile ? await findProfiler(run.config) : undefined;
    if (!isRented) return yield* trainHere(run, { ...options, profiler });
    const { trainAtModal } = await import('../modal/modal-run.ts');
    return yield* trainAtModal(run, options.signal, options.next);
  } catch (error) {
    endIfReserved(run.reference, outcomeOf(error));
    throw storageError(error, run.reference);
  }
}

type HereOptions = Pick<TrainOptions, 'preflight' | 'signal' | 'next' | 'onEvaluation'> & {
  readonly profiler: Profiler | undefined;
};

/** Trains on this machine. */
async function* trainHere(run: ResolvedRun, options: HereOptions): AsyncGenerator<TimedEvent, TrainResult> {
  const { config, values, goals, reference, resume } = run;
  const { signal, profiler, next, onEvaluation } = options;
  const since = performance.now();
  const tracking = await connectTrackers(config, signal);
  const adapter = resume ? undefined : await readStartAdapter(config, signal);
  const setup = await openSetup(adapter?.config ?? withOwnAdapter(config, reference), { signal, values });
  try {
    goals.assertReachable(setup.rewardNames);
    const report = resume || options.preflight === false ? undefined : await passPreflight(setup, signal);
    const store = openRun(run, setup, since);
    const { directory } = store;
    setup.keepLogs(join(directory, runFiles.logs));
    const profile = profiler && (await openProfile(profiler, store));
    const training = new TrainingRun(setup, store, { signal, adapter, preflight: report, profile, onEvaluation });
    const events = training.run();
    const conclude = (record: RunRecord) =>
      trainResult({
        directory,
        record,
        requirements: goals.requirements,
        alerts: training.alerts,
        artifacts: runArtifacts(directory),
        reference,
        next,
      });
    try {
      return yield* recorded(store, tracking?.follow(store, events) ?? events, conclude);
    } finally {
      await tracking?.close(store);
    }
  } finally {
    setup.dispose();
  }
}

/** How a run ends that was stopped or failed before it began. */
function outcomeOf(error: unknown): Pick<RunRecord, 'status' | 'error' | 'stop_reason'> {
  if (!(error instanceof GradusError && error.code === 'CANCELLED'))
    return { status: 'failed', error: failureOf(error) };
  return { status: 'stopped', stop_reason: stopReasonOf(error.cause) };
}

const optionSchema = z.object({
  settings: z.array(z.string()),
  signal: z.instanceof(AbortSignal),
  require: z.array(z.string()),
  preflight: z.boolean(),
  yes: z.boolean(),
  profile: z.boolean(),
  next: z.custom<TrainOptions['next']>((value) => typeof value === 'function', 'expected a function'),
  onEvaluation: z.custom<TrainOptions['onEvaluation']>((value) => typeof value === 'function', 'expected a function'),
  onEvent: z.custom<TrainOptions['onEvent']>((value) => typeof value === 'function', 'expected a function'),
  out: z.string(),
  name: z.string(),
  root: z.string(),
  resume: z.boolean(),
  overwrite: z.boolean(),
} satisfies Record<keyof TrainOptions, z.ZodType>);

/** Throws `OPTION_INVALID` for invalid options, and for combinations in which one option would have no effect. */
function assertOptions(options: TrainOptions): void {
  assertValid(optionSchema, options);
  const exclusive = [
    ['out', 'name'],
    ['resume', 'overwrite'],
  ] as const;
  for (const [one, other] of exclusive) {
    if (!options[one] || !options[other]) continue;
    throw new GradusError('OPTION_INVALID', `${one} and ${other} exclude each other`, {
      hint: 'leave one of them out',
      path: other,
    });
  }
}

/** The report of the checks before a new run; absent where there are none to make. Throws `PREFLIGHT_FAILED`. */
async function passPreflight(setup: Setup, signal: AbortSignal | undefined): Promise<PreflightReport | undefined> {
  const [stage] = stagesOf(setup.config);
  const entered = await setup.enter(stage!);
  // A supervised stage samples nothing, and samples taken now would say nothing about the policy after it.
  const isSupervised = stage!.method === 'sft';
  const report = await (isSupervised ? preflightWithoutSamples(entered) : preflight(entered, signal));
  if (report) assertPassed(report);
  return report;
}

/** Throws `PROFILE_UNSUPPORTED`. */
async function findProfiler(config: Config): Promise<Profiler> {
  const { profiler } = await backendOf(config);
  if (profiler) return profiler;
  throw new GradusError(
    'PROFILE_UNSUPPORTED',
    `backend ${config.backend} does not tell what its steps spend their time on`,
    {
      hint: `leave ${option('profile', true)} out, or set backend: native`,
    },
  );
}

/** Throws the error of a tracker that cannot be used. */
async function connectTrackers(config: Config, signal?: AbortSignal): Promise<Tracking | undefined> {
  // `jsonl` stands for the run's own files, which need no tracker.
  if (config.trackers.every((name) => name === 'jsonl')) return undefined;
  const { Tracking } = await import('../training/tracking.ts');
  return Tracking.connect(config, signal);
}

async function openProfile(profiler: Profiler, store: RunStore): Promise<StepProfile> {
  const { StepProfile } = await import('../profile/step-profile.ts');
  return new StepProfile(profiler, store);
}

export function loadConfig(config: string | ProgramConfig, settings: readonly string[] = []): LoadedTraining {
  if (typeof config === 'string') return openConfigFile(config, settings);
  const { config: plain, values } = withoutValues(config);
  return { ...loadConfigObject(plain, settings), values };
}
