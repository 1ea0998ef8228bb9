// The mask of a loss that trains only on the tokens with the highest entropy.

/** Tolerance for the rounding of ranks, which are products such as 0.8 · 10. */
const RANK_ROUNDING = 1e-9;

/**
 * True for the tokens whose entropy is at least the (1 − `fraction`)-quantile over all tokens of the optimiser step: few tokens, at which
 * the text could go on in several ways, carry most of the signal. Wang et al. 2025, arXiv:2506.01939.
 *
 * @param entropies for each sequence, the entropy of each completion token's distribution, in nats
 * @param masks for each sequence and completion token, whether it is trained on
 * @param fraction of the trained tokens to select, from 0 to 1
 */
export function topEntropyMask(
  entropies: readonly (readonly number[])[],
  masks: readonly (readonly boolean[])[],
  fraction: number,
): boolean[][] {
  const trained = entropies.flatMap((row, i) => row.filter((_, t) => masks[i]![t])).sort((a, b) => a - b);
  const rank = Math.ceil((1 - fraction) * (trained.length - 1) - RANK_ROUNDING);
  const threshold = trained[rank] ?? 0;
  return entropies.map((row, i) => row.map((entropy, t) => masks[i]![t]! && entropy >= threshold));
}
