// What the sessions of a learner are given for a micro-batch: the padded layout, and the numbers that a loss is made of.
import type { TrainingSequence } from '../../model.ts';
import { dropoutColumns } from '../../models/layers.ts';
import type { LoraAdapters } from '../../models/lora.ts';
import { randomStream, streamSeed } from '../../random.ts';
import type { Tensor as BoundTensor } from '../../runtime/tensor.ts';
import type { MicroBatch } from './micro-batches.ts';
import type { RunTensors } from './run-tensors.ts';

/** What the loss of an optimiser step needs beside its sequences, the same for each of its micro-batches. */
export interface StepInputs {
  /** What a nat of entropy is worth. */
  readonly entropyCoefficient: number;
  /** Of what dropout leaves out. */
  readonly seed: number;
  /** For each sequence its tokens of the highest entropy, if the loss learns from those alone. */
  readonly entropyMasks?: readonly (readonly boolean[])[];
}

/** A finite stand-in for −∞: exp of it is 0. */
const HIDDEN = -1e9;

/** The inputs of models/training-graph.ts and models/prefix-attention.ts. */
export function layoutInputs(
  part: MicroBatch,
  sequences: readonly TrainingSequence[],
  run: RunTensors,
): [string, BoundTensor][] {
  const { U: prompts, P: promptWidth, G: group, C: width } = part.sizes;
  const promptRows = prompts * promptWidth;
  const rows = promptRows + part.rows.length * width;
  const ids = new Array<number>(rows).fill(0);
  const positions = new Array<number>(rows).fill(0);
  const sources: number[] = [];
  const targets: number[] = [];
  const places: number[] = [];
  const untrained: number[] = [];

  for (const [u, promptIds] of part.prompts.entries()) {
    for (let p = 0; p < promptWidth; p++) {
      ids[u * promptWidth + p] = promptIds[p] ?? 0;
      positions[u * promptWidth + p] = p;
    }
  }
  for (const [row, index] of part.rows.entries()) {
    const prompt = Math.floor(row / group);
    const promptLength = part.prompts[prompt]!.length;
    const start = promptRows + row * width;
    const sequence = index === undefined ? undefined : sequences[index]!;
    for (let c = 0; c < width; c++) {
      ids[start + c] = sequence?.completionIds[c] ?? 0;
      // Padding behind a completion must stay within the rotary tables.
      positions[start + c] = promptLength + (sequence && c < sequence.completionIds.length ? c : 0);
      if (sequence?.mask[c]) {
        places.push(sources.length);
        // A completion's first token is predicted by its prompt's last.
        sources.push(c === 0 ? prompt * promptWidth + promptLength - 1 : start + c - 1);
        targets.push(sequence.completionIds[c]!);
      } else {
        untrained.push(places.length);
        places.push(0);
      }
    }
  }
  for (const place of untrained) places[place] = sources.length;

  const padding = part.prompts.flatMap(({ length }) =>
    Array.from({ length: promptWidth }, (_, p) => (p < length ? 0 : HIDDEN)),
  );
  return [
    ['ids', run.integers([rows], ids)],
    ['positions', run.integers([rows, 1], positions)],
    ['sources', run.integers([sources.length], sources)],
    ['targets', run.integers([targets.length], targets)],
    ['places', run.integers([prompts, group, width], places)],
    ['prompt_causal', run.floats([promptWidth, promptWidth], causal(promptWidth))],
    ['completion_causal', run.floats([width, width], causal(width))],
    ['prompt_padding', run.floats([prompts, 1, 1, 1, 1, promptWidth], padding)],
  ];
}

/** The inputs of the loss. */
export function lossInputs(
  part: MicroBatch,
  sequences: readonly TrainingSequence[],
  step: StepInputs,
  run: RunTensors,
): [string, BoundTensor][] {
  const width = part.sizes.C;
  const of = part.rows.map((index) => (index === undefined ? undefined : sequences[index]));
  const { entropyMasks } = step;
  const perToken = (values: (sequence: TrainingSequence) => readonly (number | boolean)[] | undefined) =>
    run.floats(
      [of.length, width],
      of.flatMap((sequence) =>
        Array.from({ length: width }, (_, c) => Number((sequence && values(sequence)?.[c]) ?? 0)),
      ),
    );
  return [
    ['mask', perToken(({ mask }) => mask)],
    ['has_old', run.floats([], [Number(sequences.every(({ oldLogprobs }) => oldLogprobs))])],
    ['old_logprobs', perToken(({ oldLogprobs }) => oldLogprobs)],
    ['sampler_logprobs', perToken(({ samplerLogprobs }) => samplerLogprobs)],
    ['reference_logprobs', perToken(({ referenceLogprobs }) => referenceLogprobs)],
    [
      'advantages',
      run.floats(
        [of.length, 1],
        of.map((sequence) => sequence?.advantage ?? 0),
      ),
    ],
    [
      'entropy_mask',
      run.floats(
        [of.length, width],
        part.rows.flatMap((index) =>
          Array.from({ length: width }, (_, c) => Number((index !== undefined && entropyMasks?.[index]?.[c]) ?? 0)),
        ),
      ),
    ],
    ['entropy_coefficient', run.floats([], [step.entropyCoefficient])],
    ['total_tokens', run.floats([], [countTokens(sequences.map(({ mask }) => mask))])],
    ['total_sequences', run.floats([], [sequences.filter(({ mask }) => mask.includes(true)).length])],
    ['total_entropy_tokens', run.floats([], [countTokens(entropyMasks ?? [])])],
  ];
}

/**
 * The random numbers of dropout. A row's goes with its token, a prompt's or a sequence's, so that what is left out does not depend on how a
 * batch is split.
 */
export function dropoutInputs(
  { prompts, rows: sequences, sizes }: MicroBatch,
  adapters: LoraAdapters,
  seed: number,
  run: RunTensors,
): [string, BoundTensor][] {
  const uniforms = (count: number, ...keys: (string | number)[]) => {
    const random = randomStream(streamSeed(seed, ...keys));
    return Array.from({ length: count }, () => random.uniform());
  };
  const rows = [
    ...prompts.flatMap((ids) => uniforms(sizes.P, 'prompt', ids.join(' '))),
    ...sequences.flatMap((index) => uniforms(sizes.C, 'completion', index ?? -1)),
  ];
  return [
    ['dropout_rows', run.floats([rows.length, 1], rows)],
    ...[...adapters].map(([layer, { a }]): [string, BoundTensor] => {
      return [dropoutColumns(layer), run.floats([1, a.shape[1]], uniforms(a.shape[1], 'columns', layer))];
    }),
  ];
}

function causal(width: number): Float32Array {
  return Float32Array.from({ length: width * width }, (_, i) => (i % width <= Math.floor(i / width) ? 0 : HIDDEN));
}

function countTokens(masks: readonly (readonly boolean[])[]): number {
  return masks.reduce((sum, mask) => sum + mask.filter(Boolean).length, 0);
}
