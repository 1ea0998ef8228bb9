// Correction for a sampler that is not quite the model being trained: rounded weights, other kernels, filters.
import type { Tensor } from '../tensor/graph.ts';
import { abs, div, exp, greater, maximum, minimum, mul, neg, reduceMax, reduceSum, sub, where } from '../tensor/ops.ts';
import { sumTokens } from './loss-metrics.ts';

/** Named as TRL names its correction for vLLM, which this is. */
export interface SamplingCorrection {
  /** One ratio for each token, or one for each sequence; ratios above the limit are cut down to it, or count for nothing. */
  readonly mode: 'token_truncate' | 'token_mask' | 'sequence_truncate' | 'sequence_mask';
  /** The largest ratio. */
  readonly clip_max: number;
}

export interface SamplingCorrectionInputs {
  /** [R, C] by the trainer, under the weights that sampled; masked positions hold 0. */
  readonly oldLogprobs: Tensor;
  /** [R, C] by the sampler; masked positions hold 0. */
  readonly samplerLogprobs: Tensor;
  /** [R, C] */
  readonly mask: Tensor;
  /** Scalar: tokens to learn from in the whole step. */
  readonly tokens: Tensor;
}

/**
 * The importance ratio trainer / sampler that each token's loss is weighed by, [R, C] or [R, 1]; no gradient flows through it as long as
 * `oldLogprobs` has none. Yao et al. 2025, Your efficient RL framework secretly brings you off-policy RL training.
 */
export function samplingCorrection(inputs: SamplingCorrectionInputs, { mode, clip_max }: SamplingCorrection) {
  const { oldLogprobs, samplerLogprobs, mask, tokens } = inputs;
  const difference = sub(oldLogprobs, samplerLogprobs);
  const raw = exp(mode.startsWith('sequence') ? sumTokens(difference) : difference);
  const ratio = mode.endsWith('mask') ? where(greater(raw, clip_max), 0, raw) : minimum(raw, clip_max);
  const distance = mul(abs(difference), mask);
  const everyToken = mul(ratio, mask);
  const metrics: Record<string, Tensor> = {
    'sampling/sampling_logp_difference/mean': div(reduceSum(distance), maximum(tokens, 1)),
    'sampling/sampling_logp_difference/max': reduceMax(distance),
    'sampling/importance_sampling_ratio/min': neg(reduceMax(neg(where(greater(mask, 0), ratio, clip_max)))),
    'sampling/importance_sampling_ratio/mean': div(reduceSum(everyToken), maximum(tokens, 1)),
    'sampling/importance_sampling_ratio/max': reduceMax(everyToken),
  };
  return { ratio, metrics };
}
