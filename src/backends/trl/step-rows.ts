// The rows of one step as TRL takes them: groups one after the other, each of the same size. What is missing from a group is a row that nothing
// is learnt from.
import { GradusError } from '../../errors.ts';
import type { TrainingBatch, TrainingSequence } from '../../model.ts';

export interface StepRow {
  readonly prompt_ids: readonly number[];
  readonly completion_ids: readonly number[];
  /** 1 for tokens that are learnt. */
  readonly mask: readonly (0 | 1)[];
  readonly logprobs: readonly number[];
  /** TRL computes advantages from it; null: it counts for nothing in its group. */
  readonly score: number | null;
}

export interface StepRows {
  readonly rows: readonly StepRow[];
  /** The row of each sequence. */
  readonly places: readonly number[];
}

/** Sequences without a group are compared with one another, by their advantages. */
export function stepRows(
  { sequences, unlearnt = [] }: TrainingBatch,
  { groups, generations }: { readonly groups: number; readonly generations: number },
): StepRows {
  const members = new Map<string, number[]>();
  for (const [i, { group = '' }] of sequences.entries()) members.set(group, [...(members.get(group) ?? []), i]);
  const scores = new Map<string, (number | null)[]>();
  for (const { group, reward } of unlearnt) scores.set(group, [...(scores.get(group) ?? []), reward]);
  const largest = Math.max(...[...members.values()].map(({ length }) => length));
  if (members.size > groups || largest > generations) {
    const given = `${members.size} groups of up to ${largest} sequences`;
    throw new GradusError('BATCH_TOO_LARGE', `a step of TRL holds ${groups} groups of ${generations}, not ${given}`);
  }
  const rows: StepRow[] = [];
  const places: number[] = [];
  for (const [group, indices] of members) {
    for (const i of indices) places[i] = rows.push(rowOf(sequences[i]!)) - 1;
    const { promptIds } = sequences[indices[0]!]!;
    const others = scores.get(group) ?? [];
    for (let i = indices.length; i < generations; i++) rows.push(emptyRow(promptIds, others[i - indices.length]));
  }
  while (rows.length < groups * generations) rows.push(emptyRow(sequences[0]!.promptIds));
  return { rows, places };
}

function rowOf({ promptIds, completionIds, mask, samplerLogprobs, reward, advantage }: TrainingSequence): StepRow {
  return {
    prompt_ids: promptIds,
    completion_ids: completionIds,
    mask: mask.map((learnt) => (learnt ? 1 : 0)),
    logprobs: samplerLogprobs ?? completionIds.map(() => 0),
    score: reward === undefined ? advantage : reward,
  };
}

function emptyRow(promptIds: readonly number[], score: number | null = null): StepRow {
  return { prompt_ids: promptIds, completion_ids: [0], mask: [0], logprobs: [0], score };
}
