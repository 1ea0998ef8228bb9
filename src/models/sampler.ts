// Draws tokens from a distribution, which top-k, top-p and min-p may restrict.
import type { RandomStream } from '../common/random.ts';
import type { SamplingFilters, TokenLogprob } from '../policy.ts';

/** Probabilities or scores in either precision. */
type Floats = Float32Array | Float64Array;

/** Whether the filters may leave out any token. */
export function restricts({ topK = 0, topP = 1, minP = 0 }: SamplingFilters): boolean {
  return topK > 0 || topP < 1 || minP > 0;
}

/** Draws one token from probabilities [V] that sum to 1; its log-probability is the one before filters. Always takes exactly one random number. */
export function sampleToken(probabilities: Floats, random: RandomStream, filters: SamplingFilters = {}): TokenLogprob {
  const point = random.uniform();
  if (restricts(filters)) return drawFrom(keptTokens(probabilities, filters), probabilities, point);
  let reached = 0;
  let last = 0;
  for (let id = 0; id < probabilities.length; id++) {
    const probability = probabilities[id]!;
    if (probability === 0) continue;
    reached += probability;
    last = id;
    if (reached > point) break;
  }
  // If rounding leaves the sum below the point, the last token with a probability above 0 is drawn.
  return { id: last, logprob: Math.log(probabilities[last]!) };
}

/** The probabilities of tokens with these logits, after a temperature above 0. */
export function softmax(logits: Float64Array, temperature: number): Float64Array {
  const highest = logits[likeliestToken(logits)]!;
  const weights = logits.map((logit) => Math.exp((logit - highest) / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Divides the logits of these tokens by a penalty, or multiplies them if they are below 0, as transformers does. */
export function penalize(logits: Float64Array, ids: ReadonlySet<number>, penalty: number): void {
  for (const id of ids) logits[id] = logits[id]! < 0 ? logits[id]! * penalty : logits[id]! / penalty;
}

/** The most likely token, or the first of them if several are equally likely. */
export function likeliestToken(scores: Floats): number {
  let best = 0;
  for (let id = 1; id < scores.length; id++) if (scores[id]! > scores[best]!) best = id;
  return best;
}

/** The ids of the highest scores, highest first; equally high ones in the order of their ids. */
export function likeliestTokens(scores: Floats, count: number): number[] {
  const ids: number[] = [];
  if (count === 0) return ids;
  for (let id = 0; id < scores.length; id++) {
    if (ids.length === count && !(scores[id]! > scores[ids.at(-1)!]!)) continue;
    if (ids.length === count) ids.pop();
    const after = ids.findLastIndex((other) => scores[other]! >= scores[id]!);
    ids.splice(after + 1, 0, id);
  }
  return ids;
}

/** The ids that pass the filters, most likely first; equally likely ones in the order of their ids. */
function keptTokens(probabilities: Floats, { topK = 0, topP = 1, minP = 0 }: SamplingFilters): number[] {
  const largest = probabilities[likeliestToken(probabilities)]!;
  const lowest = minP * largest;
  // Top-p treats the tokens that top-k left as the whole distribution.
  const enough = topP < 1 && topK === 0 ? topP * totalFrom(lowest, probabilities) : Number.POSITIVE_INFINITY;
  const most = topK > 0 ? topK : Number.POSITIVE_INFINITY;
  // Few tokens are likely. Sorting only these, and more if they do not suffice, takes a hundredth of the time of sorting a vocabulary.
  let kept: number[] = [];
  let bound = largest;
  do {
    bound = bound > largest * 2 ** -32 ? bound / 16 : 0;
    kept = idsFrom(Math.max(bound, lowest), probabilities);
  } while (bound > lowest && kept.length < most && total(kept, probabilities) < enough);
  kept.sort((a, b) => probabilities[b]! - probabilities[a]! || a - b);
  if (topK > 0) kept = kept.slice(0, topK);
  if (topP >= 1) return kept;
  const reached = firstReaching(topK > 0 ? topP * total(kept, probabilities) : enough, kept, probabilities);
  return kept.slice(0, reached + 1);
}

/** The ids of tokens that can occur and are at least as likely as this. */
function idsFrom(bound: number, probabilities: Floats): number[] {
  const ids: number[] = [];
  for (let id = 0; id < probabilities.length; id++) {
    if (probabilities[id]! >= bound && probabilities[id]! > 0) ids.push(id);
  }
  return ids;
}

function totalFrom(bound: number, probabilities: Floats): number {
  let sum = 0;
  for (let id = 0; id < probabilities.length; id++) if (probabilities[id]! >= bound) sum += probabilities[id]!;
  return sum;
}

function drawFrom(kept: readonly number[], probabilities: Floats, point: number): TokenLogprob {
  const id = kept[firstReaching(point * total(kept, probabilities), kept, probabilities)]!;
  return { id, logprob: Math.log(probabilities[id]!) };
}

/** The index of the first token at which the running sum reaches a goal. */
function firstReaching(goal: number, ids: readonly number[], probabilities: Floats): number {
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
