// A training run: its steps with the evaluations, samples and checkpoints between them, all of which are recorded.
import { isDeepStrictEqual } from 'node:util';
import type { PreflightReport } from '../checks/preflight.ts';
import { stopReasonOf } from '../common/cancellation.ts';
import { streamSeed } from '../common/random.ts';
import { type Stage, stagesOf } from '../config/stages.ts';
import { haveSameData } from '../data/problems.ts';
import { codeOf } from '../errors.ts';
import { isBetter } from '../evaluation/better-evaluation.ts';
import { evaluatePolicy } from '../evaluation/evaluate-policy.ts';
import type { EvaluationProgress } from '../evaluation/evaluation-options.ts';
import { samplePolicy } from '../evaluation/sample-policy.ts';
import { Stopping } from '../goals/stopping.ts';
import { sampledTokens } from '../grpo/metrics.ts';
import type { StepReport } from '../loop/grpo-trainer.ts';
import type { StepProfile } from '../profile/step-profile.ts';
import { checkpointSteps, findCheckpoint, readCheckpointPointer } from '../runs/checkpoints.ts';
import { type HealthMonitor, healthMonitor } from '../runs/health.ts';
import { eachMetrics, lastStep, readEvaluations } from '../runs/read-run.ts';
import type { Alert, DiagnosedAlert, EndedBy, EvaluationRecord, MetricsRecord } from '../runs/records.ts';
import { changesOf, damageOf } from '../runs/run-remarks.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Progress } from '../scoring.ts';
import { rightAnswer } from '../setup/right-answers.ts';
import type { Setup } from '../setup/setup.ts';
import type { StartAdapter } from '../setup/start-adapter-copy.ts';
import { type ErrorBudget, errorBudget } from './error-budget.ts';
import type { StartEvent, StepEvent, TrainEvent } from './event-schemas.ts';
import { speed } from './events.ts';
import { healthSettings } from './health-settings.ts';
import { openTrainer, type StageTrainer } from './open-trainer.ts';
import { assertSamplerAgrees, samplerTolerance } from './sampler-gate.ts';

type Events = AsyncGenerator<TrainEvent, void>;

/** The number of problems whose completions are saved for people to read. */
const SAMPLED_PROBLEMS = 4;

export interface TrainingRunOptions {
  readonly signal?: AbortSignal | undefined;
  /** The adapter that the run starts from, which is copied into its directory. */
  readonly adapter?: StartAdapter | undefined;
  /** The report of the checks before the run, which is emitted as its first event. */
  readonly preflight?: PreflightReport | undefined;
  /** Profiles the first steps. */
  readonly profile?: StepProfile | undefined;
  /** Called as the problems of an evaluation are answered. */
  readonly onEvaluation?: ((progress: EvaluationProgress) => void) | undefined;
}

export class TrainingRun {
  readonly #setup: Setup;
  readonly #store: RunStore;
  readonly #signal: AbortSignal | undefined;
  readonly #adapter: StartAdapter | undefined;
  readonly #preflight: PreflightReport | undefined;
  readonly #health: HealthMonitor;
  readonly #profile: StepProfile | undefined;
  readonly #onEvaluation: TrainingRunOptions['onEvaluation'];
  readonly #stopping: Stopping;
  /** Why the run ends where it is, before its last step. */
  #end: EndedBy | undefined;
  #trainer: StageTrainer | undefined;
  /** The steps of the last evaluation, the last samples and the last checkpoint. */
  #lastEvaluation: number | undefined;
  #lastSamples: number | undefined;
  #lastCheckpoint: number | undefined;
  /** The metric of that name, of the last step. */
  #numTokens: number | undefined = 0;
  /** The best evaluation so far, and its step until that is saved as the best. */
  #best: EvaluationRecord | undefined;
  #unsavedBest: number | undefined;

  constructor(setup: Setup, store: RunStore, options: TrainingRunOptions = {}) {
    const { signal, adapter, preflight, profile, onEvaluation } = options;
    this.#setup = setup;
    this.#store = store;
    this.#signal = signal;
    this.#adapter = adapter;
    this.#preflight = preflight;
    this.#profile = profile;
    this.#onEvaluation = onEvaluation;
    const { directory } = store;
    const evaluations = readEvaluations(directory);
    this.#restoreCheckpoints(directory, evaluations);
    this.#lastEvaluation = evaluations.at(-1)?.step;
    this.#stopping = new Stopping(setup.config);
    for (const record of eachMetrics(directory)) this.#stopping.step(record);
    for (const record of evaluations) this.#stopping.evaluation(record);
    this.#health = healthMonitor(eachMetrics(directory), evaluations, healthSettings(setup.config));
    this.#lastSamples = lastStep(directory, 'samples');
  }

  /** The alerts of the rules of run health so far. */
  get alerts(): DiagnosedAlert[] {
    return this.#health.alerts;
  }

  /** Trains from the current step of the store to the last step, or until the signal is aborted. */
  async *run(): Events {
    const { config } = this.#setup;
    const from = this.#store.record.step;
    this.#adapter?.writeTo(this.#store.directory);
    if (this.#preflight) {
      const { checks, metrics } = this.#preflight;
      yield { type: 'preflight', step: 0, checks, metrics };
    }
    yield this.#startEvent();
    if (from === 0 && config.eval?.on_start) yield* this.#evaluate(0);
    if (from === 0 && config.sample_every_steps !== null) yield* this.#sample(0);

    const countErrors = errorBudget(config.max_error_fraction);
    this.#lookForEnd();
    for (const stage of this.#stagesLeft()) {
      if (this.#signal?.aborted) break;
      if (this.#end && !this.#isIncompleteAfter(this.#store.record.step)) break;
      yield* this.#train(stage, countErrors);
    }

    const { step } = this.#store.record;
    yield* this.#save(step);
    const isFinished = this.#isLast(step) && !this.#isIncompleteAfter(step);
    if (this.#signal?.aborted && !isFinished) yield { type: 'stop', step, reason: stopReasonOf(this.#signal.reason) };
    else yield { type: 'end', step, ...(this.#end ?? { key: 'max_steps', reason: `all ${step} steps were made` }) };
  }

  /** Looks whether a condition or a limit ends the run, unless it ends here anyway. */
  #lookForEnd(): void {
    const isOver = this.#isLast(this.#store.record.step) || this.#signal?.aborted;
    if (!isOver) this.#end = this.#stopping.reached(this.#store.elapsed);
  }

  /** Reads the checkpoints of a run that is resumed. */
  #restoreCheckpoints(directory: string, evaluations: readonly EvaluationRecord[]): void {
    this.#lastCheckpoint = readCheckpointPointer(directory, 'latest');
    if (this.#lastCheckpoint === undefined) return;
    const { state } = findCheckpoint(directory, 'latest');
    this.#numTokens = state.num_tokens;
    // A checkpoint with a metric was the best when it was written, but the process may have ended before it was marked as the best.
    if (state.metric) this.#store.pointTo('best', this.#lastCheckpoint);
    this.#prune();
    const best = readCheckpointPointer(directory, 'best');
    this.#best = evaluations.find(({ step }) => step === best);
  }

  async *#train(stage: Stage, countErrors: ErrorBudget): Events {
    const { config } = this.#setup;
    const trainer = await this.#enter(stage).catch((error) => {
      // The run was stopped while the stage's code and data were being loaded, and ends with what has been trained so far.
      if (codeOf(error) === 'CANCELLED') return undefined;
      throw error;
    });
    if (!trainer) return;
    this.#trainer = trainer;
    const { step: from } = this.#store.record;
    const { name, method, index } = stage;
    if (name !== undefined) {
      yield { type: 'stage', step: from, name, method, stage: index + 1, steps: stage.to - stage.from };
    }
    // A signal may have interrupted the last step of a run that is now resumed.
    if (from > stage.from || this.#end) yield* this.#finishStep(from, stage);
    if (this.#end) return;
    const steps = trainer.steps({ from, numTokens: this.#numTokens, signal: this.#signal });
    for await (const report of this.#profile?.watch(steps) ?? steps) {
      const { event, record } = this.#record(report, stage);
      yield event;
      yield* this.#alert(this.#health.step(record));
      countErrors(report.groups);
      assertSamplerAgrees(record, samplerTolerance(config));
      yield* this.#finishStep(report.step, stage);
      this.#lookForEnd();
      if (!this.#end) continue;
      // What is due after the last step is due now.
      yield* this.#finishStep(report.step, stage);
      break;
    }
  }

  /** Does whatever is due after a step. The checkpoint comes last, so that everything before it is saved with it. */
  async *#finishStep(step: number, stage: Stage): Events {
    const { config } = this.#setup;
    if (this.#isEvaluationDue(step)) yield* this.#evaluate(step);
    if (this.#isSampleDue(step)) yield* this.#sample(step);
    // The next stage starts from this one's checkpoint.
    const handsOver = step === stage.to;
    if (isDue(step, config.save.every_steps) || this.#unsavedBest === step || handsOver) yield* this.#save(step);
  }

  #isEvaluationDue(step: number): boolean {
    const { eval: evaluation } = this.#setup.config;
    return evaluation !== null && (this.#isLast(step) || isDue(step, evaluation.every_steps));
  }

  #isSampleDue(step: number): boolean {
    const { sample_every_steps } = this.#setup.config;
    return sample_every_steps !== null && (this.#isLast(step) || isDue(step, sample_every_steps));
  }

  #isLast(step: number): boolean {
    return this.#end !== undefined || step >= this.#store.record.max_steps;
  }

  /** The stages that are not finished: they have steps left, or lack something that is due after their last step. */
  #stagesLeft(): readonly Stage[] {
    const { step, max_steps } = this.#store.record;
    const stages = stagesOf(this.#setup.config, max_steps);
    return stages.filter(({ from, to }) => to > step || (to === step && from < step && this.#isIncompleteAfter(step)));
  }

  /** Whether an evaluation or samples that are due after a step have not been made. */
  #isIncompleteAfter(step: number): boolean {
    return (
      (this.#isEvaluationDue(step) && this.#lastEvaluation !== step) ||
      (this.#isSampleDue(step) && this.#lastSamples !== step)
    );
  }

  /**
   * Opens a stage and loads the latest checkpoint. At its beginning, a stage takes over the weights of the previous one, the optimiser only if
   * `keepOptimizer` is set, and the position in the data only if both have the same data.
   */
  async #enter(stage: Stage): Promise<StageTrainer> {
    const { directory, record } = this.#store;
    const setup = await this.#setup.enter(stage);
    const trainer = await openTrainer(setup, stage);
    if (this.#lastCheckpoint === undefined) return trainer;
    const { folder, state } = findCheckpoint(directory, 'latest');
    const begins = record.step === stage.from && stage.index > 0;
    const fresh = begins && !stage.keepOptimizer;
    await setup.model.load(folder, { weightsOnly: fresh });
    trainer.state = {
      data: begins && !sharesData(stagesOf(this.#setup.config)[stage.index - 1]!, stage) ? undefined : state.data,
      rewards: fresh ? undefined : state.rewards,
    };
    return trainer;
  }

  #startEvent(): StartEvent {
    const { model, problems } = this.#setup;
    const { id, backend, step, max_steps } = this.#store.record;
    return {
      type: 'start',
      run: { id, dir: this.#store.directory, backend },
      step,
      max_steps,
      parameters: model.parameters,
      ...(model.rolloutDtype !== undefined && { rollout_dtype: model.rolloutDtype }),
      train_problems: problems.train.length,
      eval_problems: problems.eval.length,
      ...changesOf(this.#store.record),
      ...damageOf(this.#store.record),
    };
  }

  #record(
    { step, groups, metrics: measured, timings }: StepReport,
    stage: Stage,
  ): { readonly event: StepEvent; readonly record: MetricsRecord } {
    const trajectories = groups.flatMap((group) => group.trajectories);
    const tokens = trajectories.reduce((sum, trajectory) => sum + sampledTokens(trajectory), 0);
    const metrics = stage.name === undefined ? measured : { ...measured, stage: stage.index + 1 };
    const record = this.#store.writeMetrics(step, metrics);
    this.#numTokens = record.num_tokens;
    this.#stopping.step(record);
    this.#store.writeTimings(step, { ...timings, ...speed({ tokens, timings }) });
    if (groups.length > 0) this.#store.writeRollouts(step, groups);
    this.#store.setProgress(step);
    const { step: _, ...finite } = record;
    return { event: { type: 'step', step, metrics: finite, timings, tokens }, record };
  }

  async *#evaluate(step: number): Events {
    if (this.#lastEvaluation === step || this.#signal?.aborted) return;
    const record = await this.#measure(step);
    if (!record) return;
    this.#lastEvaluation = step;
    this.#store.writeEvaluation(record);
    this.#stopping.evaluation(record);
    if (step > 0 && isBetter(record, this.#best, this.#setup.config.save.best))
      [this.#best, this.#unsavedBest] = [record, step];
    yield { type: 'evaluation', ...record };
    yield* this.#alert(this.#health.evaluation(record));
  }

  /** Undefined if it was stopped: the whole evaluation is made again when the run continues. */
  async #measure(step: number): Promise<EvaluationRecord | undefined> {
    const { config, problems, model, generator, rewards, rewardModel, rewardNames } = this.#setup;
    const log = this.#store.beginEvaluation(step);
    try {
      const record = await evaluatePolicy(problems.eval, step, {
        policy: model.policy(),
        generator,
        rewardModel,
        rewardNames,
        k: config.eval!.k,
        temperature: config.temperature,
        seed: config.seed,
        progress: this.#progress(step),
        answer: (example) => rightAnswer(example, rewards),
        decisive: rewards.find(({ name }) => name === rewardNames[0]),
        log,
        onProgress: this.#onEvaluation,
        signal: this.#signal,
      });
      if (record) log.finish();
      return record;
    } finally {
      log.close();
    }
  }

  *#alert(alerts: readonly Alert[]): Generator<TrainEvent, void> {
    for (const alert of alerts) {
      this.#store.writeAlert(alert);
      yield { type: 'alert', ...alert };
    }
  }

  async *#sample(step: number): Events {
    const { config, problems, model, generator, rewardModel } = this.#setup;
    if (this.#lastSamples === step || this.#signal?.aborted) return;
    const rows = (problems.eval.length > 0 ? problems.eval : problems.train).slice(0, SAMPLED_PROBLEMS);
    const samples = await samplePolicy(rows, step, {
      policy: model.policy(),
      generator: generator(),
      rewardModel,
      samplesPerProblem: 1,
      seed: streamSeed(config.seed, 'samples'),
      progress: this.#progress(step),
      signal: this.#signal,
    });
    if (samples.length === 0) return;
    this.#lastSamples = step;
    this.#store.writeSamples(samples);
    yield { type: 'samples', step, samples };
  }

  async *#save(step: number): Events {
    const { config, model } = this.#setup;
    const best = this.#unsavedBest === step;
    if (this.#lastCheckpoint === step && !best) return;
    const name = config.save.best;
    const metric = best && name !== null && { metric: { name, value: this.#best!.metrics[name]! } };
    const tokens = this.#numTokens !== undefined && { num_tokens: this.#numTokens };
    const state = { step, ...tokens, ...this.#trainer?.state, ...metric };
    // Somebody may have removed the checkpoint since it was written.
    const isThere = this.#lastCheckpoint === step && checkpointSteps(this.#store.directory).includes(step);
    const directory = isThere
      ? this.#store.amendCheckpoint(state)
      : await this.#store.writeCheckpoint(state, (folder) => model.save(folder));
    this.#lastCheckpoint = step;
    if (best) this.#store.pointTo('best', step);
    this.#unsavedBest = undefined;
    this.#prune();
    yield { type: 'checkpoint', step, directory, best };
  }

  #progress(step: number): Progress {
    return { step, maxSteps: this.#store.record.max_steps };
  }

  #prune(): void {
    const { total_limit } = this.#setup.config.save;
    if (total_limit !== null) this.#store.pruneCheckpoints(total_limit);
  }
}

function sharesData(before: Stage, { config }: Stage): boolean {
  return haveSameData(before.config, config) && isDeepStrictEqual(before.config.curriculum, config.curriculum);
}

function isDue(step: number, every: number | null | undefined): boolean {
  return typeof every === 'number' && step % every === 0;
}
