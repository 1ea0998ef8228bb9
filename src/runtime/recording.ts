// A recording of what sessions spend their time on: while it is on, ONNX Runtime writes a profile of every run.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadOnnxRuntime, type Pointer } from './onnxruntime.ts';

/** One operator of a graph in one run. */
export interface OperatorRun {
  /** ONNX's name of its kind, such as `MatMul`. */
  readonly operator: string;
  /** Milliseconds since the run began. */
  readonly start: number;
  readonly milliseconds: number;
  /** What it put out, in bytes. */
  readonly bytes: number;
}

export interface SessionRun {
  /** The session's name. */
  readonly session: string;
  /** By `performance.now()`. */
  readonly start: number;
  /** From call to return, the writing of the profile included. */
  readonly milliseconds: number;
  /** What of it was the run itself. */
  readonly runMilliseconds: number;
  readonly operators: readonly OperatorRun[];
}

/** In microseconds; counts are written as text. */
interface ProfileEvent {
  readonly cat: string;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly args: { readonly op_name?: string; readonly output_size?: string };
}

let folder: string | undefined;
let begun = 0;
let ended: (Pick<SessionRun, 'session' | 'start' | 'milliseconds'> & { readonly name: string })[] = [];

/** Begins to record the runs of all sessions of this process; each has a file of about a kilobyte an operator until it is taken. */
export function startRecording(): void {
  folder ??= mkdtempSync(join(tmpdir(), 'gradus-profile-'));
}

/** Ends the recording, and forgets what was not taken. */
export function stopRecording(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
  ended = [];
}

/** The runs that have ended since the last time, each read when it is asked for. */
export function* takeRecording(): Generator<SessionRun> {
  if (folder === undefined) return;
  const runs = ended;
  ended = [];
  // ONNX Runtime puts the time behind the name.
  const files = new Map(readdirSync(folder).map((file) => [file.split('_')[0], join(folder!, file)]));
  for (const { name, ...run } of runs) {
    const file = files.get(name)!;
    const events: ProfileEvent[] = JSON.parse(readFileSync(file, 'utf8'));
    rmSync(file);
    yield { ...run, ...readRun(events) };
  }
}

/**
 * For a run that is about to begin: options that have it recorded; `undefined` while nothing is.
 * @param createRunOptions with the session's own settings
 */
export function recordRun(session: string, createRunOptions: () => Pointer) {
  if (folder === undefined) return undefined;
  const [within, name, runOptions] = [folder, `run-${begun++}`, createRunOptions()];
  const onnxRuntime = loadOnnxRuntime();
  onnxRuntime.call('RunOptionsEnableProfiling', runOptions, join(within, name));
  const start = performance.now();
  return {
    runOptions,
    /** To be called as soon as the run has returned. */
    ended() {
      if (folder === within) ended.push({ session, start, milliseconds: performance.now() - start, name });
    },
    [Symbol.dispose]: () => onnxRuntime.release('ReleaseRunOptions', runOptions),
  };
}

function readRun(events: readonly ProfileEvent[]): Pick<SessionRun, 'runMilliseconds' | 'operators'> {
  const run = events.find(({ name }) => name === 'model_run')!;
  const operators = events
    .filter(({ cat }) => cat === 'Node')
    .map(({ ts, dur, args }) => ({
      operator: args.op_name!,
      start: (ts - run.ts) / 1000,
      milliseconds: dur / 1000,
      bytes: Number(args.output_size),
    }));
  return { runMilliseconds: run.dur / 1000, operators };
}
