// Remarks about a run in its result, besides the figures.
import type { RunRecord } from './records.ts';

/** The files that changed during a run, if any. */
export function changesOf({ changed_files: files = [] }: Pick<RunRecord, 'changed_files'>) {
  return files.length > 0 && { changed_files: files };
}

/** What was wrong with checkpoints when a run was resumed, if anything. */
export function damageOf({ damaged_checkpoints: damage = [] }: Pick<RunRecord, 'damaged_checkpoints'>) {
  return damage.length > 0 && { damaged_checkpoints: damage };
}
