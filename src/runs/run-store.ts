// Writes a run directory. All files of a run are written here.
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { GradusError } from '../errors.ts';
import { stringifyLine } from '../formats/jsonl.ts';
import type { Metrics } from '../logging.ts';
import type { TrainingBatch } from '../model.ts';
import type { GroupOutcome } from '../rl.ts';
import {
  amendCheckpoint,
  checkpointSteps,
  forgetCheckpointsAfter,
  readCheckpointPointer,
  recreateFolder,
  removeCheckpoint,
  writeCheckpoint,
} from './checkpoints.ts';
import { claimed } from './claim.ts';
import { damaged, eachLine, fileChunks, isTemporaryOf, replaceFile, replaceJson } from './files.ts';
import {
  type CheckpointPointer,
  pointerFile,
  profileFiles,
  rolloutsFile,
  runFiles,
  stepName,
  stepOf,
} from './layout.ts';
import { makeFolder } from './make-folder.ts';
import { readRun } from './read-run.ts';
import type { Alert, CheckpointState, EvaluationRecord, MetricsRecord, RunRecord, SampleRecord } from './records.ts';
import {
  assertFree,
  assertInactive,
  beginWriting,
  emptyRun,
  endWriting,
  type NewRunRecord,
  processFields,
  withoutOutcome,
} from './reservation.ts';
import { rolloutRecord } from './rollout-record.ts';

const PROGRESS_MILLISECONDS = 1000;

/** The names in `runFiles` of the files to which lines are appended. */
const lineFiles = ['metrics', 'timings', 'evals', 'alerts', 'samples', 'events'] as const;

type LineFile = (typeof lineFiles)[number];

export interface CreateRunOptions {
  readonly directory: string;
  /** Whether to remove a run that exists in the directory. @default false */
  readonly overwrite?: boolean;
  /** The configuration as it was given. */
  readonly configText: string;
  /** The configuration with every key. */
  readonly config: object;
  readonly record: NewRunRecord;
}

export class RunStore {
  readonly directory: string;
  #record: RunRecord;
  /** When run.json was last written, by the clock of this process. */
  #updated = 0;
  /** Open files to which lines are appended, since opening one may take longer than a small step. */
  readonly #appending = new Map<LineFile, number>();
  /** Files whose last lines may not have reached the disk yet. */
  readonly #unsettled = new Set<number>();

  private constructor(directory: string, record: RunRecord) {
    this.directory = directory;
    this.#record = record;
  }

  /** Starts a run in a new directory. Throws the errors of `assertFree`. */
  static create({ directory, overwrite = false, configText, config, record }: CreateRunOptions): RunStore {
    const absolute = resolve(directory);
    assertFree(absolute, overwrite);
    makeFolder(absolute);
    const store = claimed(absolute, () => {
      assertFree(absolute, overwrite);
      const store = new RunStore(absolute, {
        ...record,
        id: basename(absolute),
        status: 'starting',
        ...processFields(process.pid),
        step: 0,
      });
      // Written first, so that the directory is recognised as a run even if this process is killed now.
      store.update({});
      beginWriting(absolute);
      return store;
    });
    emptyRun(absolute);
    mkdirSync(join(absolute, runFiles.rollouts));
    mkdirSync(join(absolute, runFiles.checkpoints));
    writeFileSync(join(absolute, runFiles.config), configText);
    replaceJson(join(absolute, runFiles.resolvedConfig), config);
    store.update({ status: 'running' });
    return store;
  }

  /**
   * Resumes a run from the checkpoint of `step`, or from its beginning, and removes everything after it, which will be made again. Throws
   * `RUN_ACTIVE` if another process still writes the run, `RUN_DAMAGED` for a file that cannot be read; nothing has been changed then.
   */
  static reopen(
    directory: string,
    step: number | undefined,
    changes: Partial<RunRecord> & { readonly config: object },
  ): RunStore {
    const { config, ...rest } = changes;
    // Even what was written before the first step may be incomplete.
    const last = step ?? -1;
    const [store, kept] = claimed(directory, () => {
      const record = readRun(directory);
      assertInactive(directory, record);
      const kept = bytesUpTo(directory, last);
      const store = new RunStore(resolve(directory), {
        ...withoutOutcome(record),
        ...rest,
        status: 'running',
        ...processFields(process.pid),
        step: step ?? 0,
      });
      store.update({});
      beginWriting(store.directory);
      return [store, kept] as const;
    });
    store.#rewind(last, kept);
    replaceJson(join(store.directory, runFiles.resolvedConfig), config);
    return store;
  }

  get record(): RunRecord {
    return this.#record;
  }

  /** Changes run.json. */
  update(changes: Partial<RunRecord>): void {
    this.#record = { ...this.#record, ...changes };
    this.#updated = performance.now();
    replaceJson(join(this.directory, runFiles.run), this.#record);
  }

  /**
   * Saves a batch for inspection, one sequence per line; numbers that are not finite become `null`.
   * @returns the file
   */
  failedBatch({ sequences }: TrainingBatch): string {
    const path = join(this.directory, runFiles.failedBatch);
    replaceFile(path, sequences.map(stringifyLine).join(''));
    return path;
  }

  /** Changes run.json for the last time, if possible. On a full disk the run counts as interrupted, and the original error is reported. */
  end(changes: Partial<RunRecord>): void {
    try {
      this.update(changes);
    } catch {}
  }

  /** Records the step of the run. run.json is updated a moment later, since replacing it may take longer than a small step. */
  progress(step: number): void {
    this.#record = { ...this.#record, step };
    if (performance.now() - this.#updated > PROGRESS_MILLISECONDS) this.update({});
  }

  /** @returns the line that was written */
  metrics(step: number, metrics: Metrics): MetricsRecord {
    const record = numbersOf(step, metrics);
    this.#append('metrics', record);
    return record;
  }

  timings(step: number, seconds: Metrics): void {
    this.#append('timings', numbersOf(step, seconds));
  }

  evaluation(record: EvaluationRecord): void {
    this.#append('evals', record);
  }

  alert(alert: Alert): void {
    this.#append('alerts', alert);
  }

  /** Records the samples of a step with one write, so that a process that is killed leaves all of them or none. */
  samples(records: readonly SampleRecord[]): void {
    this.#append('samples', ...records);
  }

  event(event: object): void {
    this.#append('events', event);
  }

  rollouts(step: number, groups: readonly GroupOutcome[]): void {
    recreateFolder(join(this.directory, runFiles.rollouts));
    // A step that was interrupted is repeated, so that an incomplete file is always replaced.
    const file = openSync(rolloutsFile(this.directory, step), 'w');
    try {
      // One at a time: the tokens of thousands of long completions would be longer than a string may be.
      for (const group of groups) writeFileSync(file, stringifyLine(rolloutRecord(group)));
    } finally {
      closeSync(file);
    }
  }

  /** Returns when all lines have reached the disk. Several files at once take little longer than one. */
  async settle(): Promise<void> {
    const descriptors = [...this.#unsettled];
    this.#unsettled.clear();
    await Promise.all(descriptors.map((descriptor) => promisify(fsync)(descriptor)));
  }

  profile(contents: Readonly<Record<keyof typeof profileFiles, string>>): void {
    const folder = join(this.directory, runFiles.profile);
    mkdirSync(folder, { recursive: true });
    for (const file of ['trace', 'table'] as const) replaceFile(join(folder, profileFiles[file]), contents[file]);
  }

  result(result: object): void {
    replaceJson(join(this.directory, runFiles.result), result);
  }

  /**
   * Writes a checkpoint atomically, after everything before it has reached the disk, and makes it the latest.
   * @param write puts the model's files into the folder it is given
   * @returns the checkpoint's folder
   */
  async checkpoint(state: Omit<CheckpointState, 'files'>, write: (folder: string) => Promise<void>): Promise<string> {
    this.#assertThere();
    await this.settle();
    const folder = await writeCheckpoint(this.directory, state, write);
    this.point('latest', state.step);
    return folder;
  }

  /**
   * Replaces the state of a checkpoint whose model is the same.
   * @returns the checkpoint's folder
   */
  amendCheckpoint(state: Omit<CheckpointState, 'files'>): string {
    return amendCheckpoint(this.directory, state);
  }

  point(pointer: CheckpointPointer, step: number): void {
    replaceFile(pointerFile(this.directory, pointer), `${stepName(step)}\n`);
  }

  /** Removes old checkpoints until `keep` are left, not counting the best. */
  pruneCheckpoints(keep: number): void {
    const best = readCheckpointPointer(this.directory, 'best');
    const others = checkpointSteps(this.directory).filter((step) => step !== best);
    for (const step of others.slice(0, -keep)) removeCheckpoint(this.directory, step);
  }

  /** Closes all files; nothing may be written afterwards. */
  close(): void {
    endWriting(this.directory);
    for (const descriptor of this.#appending.values()) closeSync(descriptor);
    this.#appending.clear();
  }

  #append(file: LineFile, ...values: readonly object[]): void {
    let descriptor = this.#appending.get(file);
    if (descriptor === undefined) {
      descriptor = openSync(join(this.directory, runFiles[file]), 'a');
      this.#appending.set(file, descriptor);
    }
    appendFileSync(descriptor, values.map(stringifyLine).join(''));
    this.#unsettled.add(descriptor);
  }

  /** Throws `DIRECTORY_LOST` if a file to which lines are appended is gone: without them, the next checkpoint could not be resumed from. */
  #assertThere(): void {
    for (const file of this.#appending.keys()) {
      const path = join(this.directory, runFiles[file]);
      if (existsSync(path)) continue;
      throw new GradusError('DIRECTORY_LOST', `${path} was removed or moved during the run`, {
        hint: 'put it back and continue with --resume, or start a new run',
        path,
        kind: 'failed',
      });
    }
  }

  #rewind(step: number, kept: ReadonlyMap<LineFile, number>): void {
    for (const folder of ['rollouts', 'checkpoints'] as const) {
      mkdirSync(join(this.directory, runFiles[folder]), { recursive: true });
    }
    rmSync(join(this.directory, runFiles.result), { force: true });
    forgetCheckpointsAfter(this.directory, step);
    if (step >= 0) this.point('latest', step);
    for (const [file, bytes] of kept) cutOff(join(this.directory, runFiles[file]), bytes);
    for (const name of readdirSync(this.directory)) {
      const isLeftOver = Object.values(runFiles).some((file) => isTemporaryOf(file, name));
      if (isLeftOver) rmSync(join(this.directory, name), { force: true });
    }
    for (const name of readdirSync(join(this.directory, runFiles.rollouts))) {
      if ((stepOf(name) ?? step) > step) rmSync(join(this.directory, runFiles.rollouts, name));
    }
  }
}

/**
 * How many bytes a run keeps of its files when it is resumed from this step: the lines before the first one of a later step; all events. An incomplete
 * last line, to which the next one would be appended, is not kept. Throws `RUN_DAMAGED`, also unless metrics have a line for each step up to this one:
 * a resumed run would never write the missing ones.
 */
function bytesUpTo(directory: string, step: number): Map<LineFile, number> {
  const kept = new Map<LineFile, number>();
  for (const file of lineFiles) {
    const path = join(directory, runFiles[file]);
    let [lines, bytes, isOver] = [0, 0, false];
    // The file is read to its end, although no more lines may be kept: if it is damaged, the run stays as it is.
    for (const { value, end } of eachLine<{ step: number }>(path)) {
      isOver ||= file !== 'events' && !(value.step <= step);
      if (isOver) continue;
      [lines, bytes] = [lines + 1, end];
      if (file === 'metrics' && value.step !== lines) throw lacksStep(path, lines);
    }
    if (file === 'metrics' && lines < step) throw lacksStep(path, lines + 1);
    if (existsSync(path)) kept.set(file, bytes);
  }
  return kept;
}

function lacksStep(path: string, step: number): GradusError {
  return damaged(path, `its line for step ${step} is missing, or not in its place`);
}

/** Cuts a file off behind a line, and adds the line's line feed if it was missing. */
function cutOff(path: string, bytes: number): void {
  truncateSync(path, bytes);
  const [last] = fileChunks(path, Math.max(0, bytes - 1));
  if (last && last[0] !== 0x0a) appendFileSync(path, '\n');
}

/** The step, which no metric can replace, then all finite numbers in alphabetical order, so that equal metrics give equal bytes. */
function numbersOf(step: number, numbers: Metrics): MetricsRecord {
  const record: { step: number } & Record<string, number> = { step };
  for (const name of Object.keys(numbers).sort()) {
    if (name !== 'step' && Number.isFinite(numbers[name])) record[name] = numbers[name]!;
  }
  return record;
}
