// Packs sequences into the padded layout of models/prefix-attention.ts: U prompts of P tokens, each with G completions of C tokens.
import type { TrainingSequence } from '../../model.ts';
import type { ModelConfig } from '../../models/layers.ts';

/** Completions that share a prompt. */
interface PromptGroup {
  readonly promptIds: readonly number[];
  /** Indices into the batch. */
  readonly members: readonly number[];
}

/** What one run of the training graph takes. */
export interface MicroBatch {
  readonly prompts: readonly (readonly number[])[];
  /** For each row of the layout [U·G] the index of its sequence in the batch; undefined where a group has fewer than G. */
  readonly rows: readonly (number | undefined)[];
  readonly sizes: { readonly U: number; readonly P: number; readonly G: number; readonly C: number };
  /** Whether any of its sequences adds to the gradient. If none does, no gradients are computed. */
  readonly teaches: boolean;
}

export interface MicroBatchLimits {
  /** The most rows of activations, including padding. */
  readonly rows: number;
  /** The most completion tokens, including padding; each may need a row of logits. */
  readonly completionTokens: number;
}

/** The most logits of one pass. About five matrices of this size exist at the same time. */
const LOGITS_PER_PASS = 2 ** 25;

/** Limits that bound the working memory of a pass for any size of vocabulary. */
export function microBatchLimits({ vocabularySize }: Pick<ModelConfig, 'vocabularySize'>): MicroBatchLimits {
  const completionTokens = Math.max(64, Math.floor(LOGITS_PER_PASS / vocabularySize));
  return { completionTokens: Math.min(completionTokens, 8192), rows: Math.min(4 * completionTokens, 8192) };
}

/**
 * Splits a batch into micro-batches. Each stays within the limits, unless a single sequence exceeds them. Completions with the
 * same prompt go together.
 * @param teaches whether a sequence adds to the gradient. Prompts without such a completion get micro-batches of their own, which come last.
 */
export function microBatches(
  sequences: readonly TrainingSequence[],
  limits: MicroBatchLimits,
  teaches: (sequence: TrainingSequence) => boolean = () => true,
): MicroBatch[] {
  const groups = groupByPrompt(sequences);
  const isTeaching = ({ members }: PromptGroup) => members.some((member) => teaches(sequences[member]!));
  const [teaching, silent] = [groups.filter(isTeaching), groups.filter((group) => !isTeaching(group))];
  return [...packed(teaching, sequences, limits, true), ...packed(silent, sequences, limits, false)];
}

function packed(
  whole: readonly PromptGroup[],
  sequences: readonly TrainingSequence[],
  limits: MicroBatchLimits,
  teaches: boolean,
): MicroBatch[] {
  const groups = whole.flatMap((group) => splitGroup(group, sequences, limits));
  const parts: MicroBatch[] = [];
  let open: PromptGroup[] = [];
  for (const group of groups) {
    const wider = [...open, group];
    if (open.length > 0 && !fits(layoutSizes(wider, sequences), limits)) {
      parts.push(microBatch(open, sequences, teaches));
      open = [group];
    } else {
      open = wider;
    }
  }
  if (open.length > 0) parts.push(microBatch(open, sequences, teaches));
  return parts;
}

function groupByPrompt(sequences: readonly TrainingSequence[]): PromptGroup[] {
  const groups = new Map<string, { promptIds: readonly number[]; members: number[] }>();
  for (const [index, { promptIds }] of sequences.entries()) {
    const key = promptIds.join(' ');
    const group = groups.get(key) ?? { promptIds, members: [] };
    group.members.push(index);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function splitGroup(
  group: PromptGroup,
  sequences: readonly TrainingSequence[],
  limits: MicroBatchLimits,
): PromptGroup[] {
  const { members, promptIds } = group;
  for (let size = members.length; size > 1; size--) {
    const parts = chunks(members, Math.ceil(members.length / Math.ceil(members.length / size)));
    const split = parts.map((part) => ({ promptIds, members: part }));
    if (split.every((part) => fits(layoutSizes([part], sequences), limits))) return split;
  }
  return members.map((member) => ({ promptIds, members: [member] }));
}

function layoutSizes(groups: readonly PromptGroup[], sequences: readonly TrainingSequence[]): MicroBatch['sizes'] {
  return {
    U: groups.length,
    P: Math.max(...groups.map(({ promptIds }) => promptIds.length)),
    G: Math.max(...groups.map(({ members }) => members.length)),
    C: Math.max(...groups.flatMap(({ members }) => members.map((member) => sequences[member]!.completionIds.length))),
  };
}

function fits({ U, P, G, C }: MicroBatch['sizes'], limits: MicroBatchLimits): boolean {
  return U * (P + G * C) <= limits.rows && U * G * C <= limits.completionTokens;
}

function microBatch(
  groups: readonly PromptGroup[],
  sequences: readonly TrainingSequence[],
  teaches: boolean,
): MicroBatch {
  const sizes = layoutSizes(groups, sequences);
  const rows = groups.flatMap(({ members }) => Array.from({ length: sizes.G }, (_, i) => members[i]));
  return { prompts: groups.map(({ promptIds }) => promptIds), rows, sizes, teaches };
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
