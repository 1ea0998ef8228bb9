// What is checked and measured of every optimiser step, whatever its loss.
import type { TrainingBatch, TrainingSequence } from '../../model.ts';
import { NotFiniteError } from '../../not-finite.ts';

type Quantity = ConstructorParameters<typeof NotFiniteError>[0];

/** Throws `NotFiniteError`. */
export function assertFinite(what: Quantity, values: readonly number[], batch: TrainingBatch): void {
  if (!values.every(Number.isFinite)) throw new NotFiniteError(what, batch);
}

export function samplerLogprobsOf({ samplerLogprobs = [] }: TrainingSequence): readonly number[] {
  return samplerLogprobs;
}

/**
 * TRL's metric of how far the sampler is from the trainer: the mean of |trainer − sampler| over tokens, in nats. Of a batch's first update alone:
 * later ones start from other weights than those that sampled.
 * @param logprobs for each sequence, under the weights before the update
 */
export function samplerDifference(
  { sequences }: TrainingBatch,
  logprobs: readonly (readonly number[])[],
): Record<string, number> {
  let [total, tokens] = [0, 0];
  for (const [i, { mask, samplerLogprobs, oldLogprobs }] of sequences.entries()) {
    if (!samplerLogprobs || oldLogprobs) return {};
    for (const [t, counts] of mask.entries()) {
      if (!counts) continue;
      total += Math.abs(logprobs[i]![t]! - samplerLogprobs[t]!);
      tokens++;
    }
  }
  return tokens === 0 ? {} : { 'sampling/sampling_logp_difference/mean': total / tokens };
}
