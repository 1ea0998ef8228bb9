// Estimators of the KL divergence from the reference to the policy, from log-probabilities of tokens that the policy sampled.
import type { Tensor } from '../tensor/graph.ts';
import { exp, mul, neg, sub } from '../tensor/ops.ts';

export type KlEstimator = 'k1' | 'k2' | 'k3';

/**
 * Per-token estimates of KL(policy ‖ reference) from log r = log(reference / policy).
 * Schulman 2020, Approximating KL divergence, http://joschu.net/blog/kl-approx.html.
 */
export const klEstimators: Record<KlEstimator, (logRatio: Tensor) => Tensor> = {
  /** −log r: unbiased, of large variance, negative at times. */
  k1: (logRatio) => neg(logRatio),
  /** (log r)² / 2: biased, of small variance. */
  k2: (logRatio) => mul(0.5, mul(logRatio, logRatio)),
  /** r − 1 − log r: unbiased, of small variance, never negative. */
  k3: (logRatio) => sub(sub(exp(logRatio), 1), logRatio),
};

export interface KlOptions {
  /** @default 'k3' */
  readonly estimator?: KlEstimator;
  /**
   * policy / sampling policy, differentiable, [R, C] or [R, 1]: weighs each estimate, so that tokens sampled from an older policy
   * estimate the divergence of this one, and its gradient is that of the divergence. DeepSeek-AI 2025, arXiv:2512.02556.
   * @default none: the tokens are taken as the policy's own
   */
  readonly importanceRatio?: Tensor;
}

/** The per-token estimate [R, C] from the log-probabilities [R, C] of the policy and of the reference. */
export function klDivergence(logprobs: Tensor, referenceLogprobs: Tensor, options: KlOptions = {}): Tensor {
  const { estimator = 'k3', importanceRatio } = options;
  const divergence = klEstimators[estimator](sub(referenceLogprobs, logprobs));
  return importanceRatio ? mul(divergence, importanceRatio) : divergence;
}
