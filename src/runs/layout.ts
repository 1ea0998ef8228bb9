// The names and places of all files in a run directory. No other file knows them.
//
//   run.json                  what the run is and how it fares: id, backend, status, pid, versions, times. Replaced in one piece.
//   run.lock                  the process that is beginning the run, for that moment
//   config.yaml               the configuration as it was given (YAML or JSON, which is YAML too)
//   config.resolved.json      every key with its value
//   metrics.jsonl             a line a step, nothing that depends on the clock: the same seed gives the same bytes
//   timings.jsonl             a line a step: seconds
//   evals.jsonl               a line an evaluation
//   alerts.jsonl              a line whenever a rule of run health began to hold
//   samples.jsonl             a line a completion that was kept to be read
//   events.jsonl              everything that happened, as it happened
//   rollouts/step_000010.jsonl      the groups of a step, a line each
//   checkpoints/step_000100/  the model's files, the optimizer, state.json
//   checkpoints/latest, best  text files with the name of a checkpoint: they survive Windows, archives and copies, as links do not
//   start_adapter/            a copy of the adapter that the run started from, if it did
//   failed_batch.jsonl        the sequences of an update that came to NaN or infinity, and was not made
//   profile/trace.json        what `--profile` recorded, for chrome://tracing and Perfetto; profile.md says it in tables
//   tensorboard/, wandb/      what these trackers write, where the configuration names them
//   result.json               what `--json` printed at the end
//   logs/train.log            stderr of a run in the background
//   modal/                    the app of a run at Modal, and what is uploaded with it
//
// Files that end in .jsonl only grow; a reader skips a last line that is torn.
import { join } from 'node:path';

export const runFiles = {
  run: 'run.json',
  claim: 'run.lock',
  config: 'config.yaml',
  resolvedConfig: 'config.resolved.json',
  metrics: 'metrics.jsonl',
  timings: 'timings.jsonl',
  evals: 'evals.jsonl',
  alerts: 'alerts.jsonl',
  samples: 'samples.jsonl',
  events: 'events.jsonl',
  rollouts: 'rollouts',
  checkpoints: 'checkpoints',
  result: 'result.json',
  failedBatch: 'failed_batch.jsonl',
  logs: 'logs',
  modal: 'modal',
  profile: 'profile',
  tensorboard: 'tensorboard',
  startAdapter: 'start_adapter',
} as const;

/** The files of the profile. */
export const profileFiles = { trace: 'trace.json', table: 'profile.md' } as const;

/** The files of a checkpoint that are ours; the rest is the model's. */
export const checkpointFiles = { state: 'state.json' } as const;

/** The checkpoints that have a name besides their step's. */
export type CheckpointPointer = 'latest' | 'best';

/** `step_000100`: sorts by step. */
export function stepName(step: number): string {
  return `step_${String(step).padStart(6, '0')}`;
}

/** The step of a name such as `step_000100` or `step_000100.jsonl`; undefined for any other name. */
export function stepOf(name: string): number | undefined {
  const digits = /^step_(\d{6,})(?:\.jsonl)?$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function rolloutsFile(directory: string, step: number): string {
  return join(directory, runFiles.rollouts, `${stepName(step)}.jsonl`);
}

export function checkpointFolder(directory: string, step: number): string {
  return join(directory, runFiles.checkpoints, stepName(step));
}

export function pointerFile(directory: string, pointer: CheckpointPointer): string {
  return join(directory, runFiles.checkpoints, pointer);
}
