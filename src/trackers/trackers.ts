// The trackers by the names that a configuration gives them.
import type { ConnectTracker } from './tracker.ts';

/** `jsonl` is no tracker: a run always writes its own files. */
export type TrackerName = 'tensorboard' | 'mlflow' | 'wandb';

/** Loaded when a configuration names them. */
export const trackers: Readonly<Record<TrackerName, () => Promise<ConnectTracker>>> = {
  tensorboard: async () => (await import('./tensorboard.ts')).connectTensorBoard,
  mlflow: async () => (await import('./mlflow.ts')).connectMlflow,
  wandb: async () => (await import('./wandb.ts')).connectWandb,
};
