// Divides sequences into micro-batches, each of which is laid out in rows: U prompts of up to P tokens, then up to G completions of each, of up to
// C tokens. The layout of models/prefix-attention.ts pads all of them to these sizes, the layout of models/segment-attention.ts pads none.

import type { Architecture } from '../../../models/families.ts';
import type { TrainingSequence } from '../../../training-model.ts';

/** Completions that share a prompt. */
interface PromptGroup {
  readonly promptIds: readonly number[];
  /** The completions' indices in the batch. */
  readonly members: readonly number[];
}

/** What one run of the training graph takes. */
export interface MicroBatch {
  readonly prompts: readonly (readonly number[])[];
  /** For each slot of the layout [U·G] the index of its sequence in the batch; undefined where a group has fewer than G. */
  readonly slots: readonly (number | undefined)[];
  readonly sizes: { readonly U: number; readonly P: number; readonly G: number; readonly C: number };
  /** Rows of the activations: where each prompt and each completion begins, and how many there are. */
  readonly rows: { readonly promptStarts: number[]; readonly completionStarts: number[]; readonly count: number };
  /** Whether any of the micro-batch's sequences adds to the gradient. If none does, no gradients are computed. */
  readonly teaches: boolean;
}

export interface MicroBatchLimits {
  /** The most rows of activations, including padding. */
  readonly activationRows: number;
  /** The most completion tokens, including padding; each may need a row of logits. */
  readonly completionTokens: number;
}

/** Whether prompts and completions are padded to equal lengths. */
export type Layout = 'padded' | 'packed';

/** The most logits of one pass. About five matrices of this size exist at the same time. */
const LOGITS_PER_PASS = 2 ** 25;

/** Passes are not limited to fewer completion tokens than this: without logits in memory, and with them. */
const leastTokens = { withoutLogits: 1024, withLogits: 64 };
/** The most outputs of linear layers in one pass that is larger than necessary. */
const OUTPUTS_PER_PASS = 320e6;
/** Longer passes are no faster: by then the cost of packing weights for each pass is small. */
const ENOUGH_TOKENS = 2048;

/**
 * Limits that bound the working memory of a pass for any size of vocabulary.
 * @param options see `avoidsLogits`
 */
export function microBatchLimits(
  architecture: Architecture,
  options: { readonly avoidsLogits: boolean },
): MicroBatchLimits {
  const least = options.avoidsLogits ? tokensWithoutLogits(architecture) : leastTokens.withLogits;
  const completionTokens = Math.max(least, Math.floor(LOGITS_PER_PASS / architecture.config.vocabularySize));
  return { completionTokens: Math.min(completionTokens, 8192), activationRows: Math.min(4 * completionTokens, 8192) };
}

function tokensWithoutLogits(architecture: Architecture): number {
  const affordable = Math.floor(OUTPUTS_PER_PASS / linearOutputs(architecture));
  return Math.min(Math.max(leastTokens.withoutLogits, affordable), ENOUGH_TOKENS);
}

/** The number of outputs of all linear layers for a row, about as many as its backward pass keeps. */
export function linearOutputs({ parameters }: Pick<Architecture, 'parameters'>): number {
  return parameters.filter(({ kind }) => kind === 'linear').reduce((sum, { shape }) => sum + shape[0]!, 0);
}

/**
 * Splits a batch into micro-batches. Each stays within the limits, unless a single sequence exceeds them. Completions with the
 * same prompt go together.
 * @param teaches whether a sequence adds to the gradient. Prompts without such a completion get micro-batches of their own, which come last.
 */
export function microBatches(
  sequences: readonly TrainingSequence[],
  limits: MicroBatchLimits,
  layout: Layout,
  teaches: (sequence: TrainingSequence) => boolean = () => true,
): MicroBatch[] {
  const groups = groupByPrompt(sequences);
  const isTeaching = ({ members }: PromptGroup) => members.some((member) => teaches(sequences[member]!));
  const [teaching, silent] = [groups.filter(isTeaching), groups.filter((group) => !isTeaching(group))];
  const placed = (part: readonly PromptGroup[]) => microBatch(part, sequences, layout);
  const fits = (part: readonly PromptGroup[]) => isWithin(placed(part), limits);
  return [
    ...joined(teaching, fits).map((part) => ({ ...placed(part), teaches: true })),
    ...joined(silent, fits).map((part) => ({ ...placed(part), teaches: false })),
  ];
}

type Fits = (groups: readonly PromptGroup[]) => boolean;

/** Splits groups that are too large, and joins small ones. */
function joined(whole: readonly PromptGroup[], fits: Fits): PromptGroup[][] {
  const parts: PromptGroup[][] = [];
  for (const group of whole.flatMap((group) => splitGroup(group, fits))) {
    const open = parts.at(-1);
    if (open && fits([...open, group])) open.push(group);
    else parts.push([group]);
  }
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

function splitGroup(group: PromptGroup, fits: Fits): PromptGroup[] {
  const { members, promptIds } = group;
  for (let size = members.length; size > 1; size--) {
    const parts = chunks(members, Math.ceil(members.length / Math.ceil(members.length / size)));
    const split = parts.map((part) => ({ promptIds, members: part }));
    if (split.every((part) => fits([part]))) return split;
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

function isWithin({ rows: { completionStarts, count } }: Placed, limits: MicroBatchLimits): boolean {
  return count <= limits.activationRows && count - completionStarts[0]! <= limits.completionTokens;
}

type Placed = Omit<MicroBatch, 'teaches'>;

function microBatch(groups: readonly PromptGroup[], sequences: readonly TrainingSequence[], layout: Layout): Placed {
  const sizes = layoutSizes(groups, sequences);
  const prompts = groups.map(({ promptIds }) => promptIds);
  const slots = groups.flatMap(({ members }) => Array.from({ length: sizes.G }, (_, i) => members[i]));
  const completions = slots.map((index) => (index === undefined ? [] : sequences[index]!.completionIds));
  let count = 0;
  const startsOf = (texts: readonly (readonly number[])[], padded: number) =>
    texts.map(({ length }) => {
      const start = count;
      count += layout === 'padded' ? padded : length;
      return start;
    });
  const promptStarts = startsOf(prompts, sizes.P);
  const completionStarts = startsOf(completions, sizes.C);
  return { prompts, slots, sizes, rows: { promptStarts, completionStarts, count } };
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
