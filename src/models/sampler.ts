// Picks tokens from a distribution: all of it, or what top-k, top-p and min-p leave.
import type { RandomStream } from '../random.ts';

/** Single or double precision: it is only read. */
type Floats = Float32Array | Float64Array;

export interface SamplingFilters {
  /** Keep the k likeliest tokens; 0 keeps all. @default 0 */
  readonly topK?: number;
  /** Keep the likeliest tokens that together reach this probability. Holtzman et al. 2019, arXiv:1904.09751. @default 1 */
  readonly topP?: number;
  /** Drop tokens less likely than this fraction of the likeliest. Nguyen et al. 2024, arXiv:2407.01082. @default 0 */
  readonly minP?: number;
}

export interface Pick {
  readonly id: number;
  /** Under the distribution it was drawn from, filters applied. */
  readonly logprob: number;
}

/** Draws one token from probabilities [V] that add up to 1. Takes one number from the stream, filters or not. */
export function sampleToken(probabilities: Floats, random: RandomStream, filters: SamplingFilters = {}): Pick {
  const { topK = 0, topP = 1, minP = 0 } = filters;
  const point = random.uniform();
  if (topK > 0 || topP < 1 || minP > 0)
    return drawFrom(keptTokens(probabilities, { topK, topP, minP }), probabilities, point);
  let reached = 0;
  let last = 0;
  for (let id = 0; id < probabilities.length; id++) {
    const probability = probabilities[id]!;
    if (probability === 0) continue;
    reached += probability;
    last = id;
    if (reached > point) break;
  }
  // Rounding may leave the sum short of the point: then it is the last token that can occur.
  return { id: last, logprob: Math.log(probabilities[last]!) };
}

/** The likeliest token; the first of several. */
export function likeliestToken(scores: Floats): number {
  let best = 0;
  for (let id = 1; id < scores.length; id++) if (scores[id]! > scores[best]!) best = id;
  return best;
}

/** Ids that pass the filters, likeliest first; ties in the order of ids. */
function keptTokens(probabilities: Floats, { topK, topP, minP }: Required<SamplingFilters>): number[] {
  const threshold = minP * probabilities[likeliestToken(probabilities)]!;
  let kept: number[] = [];
  for (let id = 0; id < probabilities.length; id++) {
    if (probabilities[id]! > 0 && probabilities[id]! >= threshold) kept.push(id);
  }
  kept.sort((a, b) => probabilities[b]! - probabilities[a]! || a - b);
  if (topK > 0) kept = kept.slice(0, topK);
  if (topP >= 1) return kept;
  // Top-p applies to what top-k left, as if that were the whole distribution.
  const enough = firstReaching(topP, kept, probabilities);
  return kept.slice(0, enough + 1);
}

function drawFrom(kept: readonly number[], probabilities: Floats, point: number): Pick {
  const id = kept[firstReaching(point, kept, probabilities)]!;
  return { id, logprob: Math.log(probabilities[id]! / total(kept, probabilities)) };
}

/** The index of the first token at which the running sum reaches a fraction of the whole. */
function firstReaching(fraction: number, ids: readonly number[], probabilities: Floats): number {
  const goal = fraction * total(ids, probabilities);
  let reached = 0;
  for (const [i, id] of ids.entries()) {
    reached += probabilities[id]!;
    if (reached >= goal) return i;
  }
  return ids.length - 1;
}

function total(ids: readonly number[], probabilities: Floats): number {
  return ids.reduce((sum, id) => sum + probabilities[id]!, 0);
}
