// The GRPO losses, each once, as a graph expression over a padded layout: R sequences by C completion tokens.
// A micro-batch yields its share of the optimiser step's loss; shares add up, so the gradient does not depend on the split.
import type { Tensor } from '../tensor/graph.ts';
import {
  add,
  cast,
  clip,
  div,
  exp,
  greater,
  maximum,
  minimum,
  mul,
  neg,
  reciprocal,
  reduceSum,
  sub,
  where,
} from '../tensor/ops.ts';
import { klDivergence } from './kl.ts';
import { clipMetrics, sumTokens } from './loss-metrics.ts';
import { type SamplingCorrection, samplingCorrection } from './sampling-correction.ts';

export type LossType = 'grpo' | 'bnpo' | 'dr_grpo' | 'dapo';

export interface LossInputs {
  /** [R, C] under the weights that are trained: what the loss is differentiated by. */
  readonly logprobs: Tensor;
  /** [R, C] under the weights that the update starts from; where those are the same, `stopGradient(logprobs)`. */
  readonly oldLogprobs: Tensor;
  /** [R, C] under the frozen reference; needed if `beta` is not 0 or `log_kl` is set. */
  readonly referenceLogprobs?: Tensor;
  /** [R, C] as the sampler told them; needed if `sampling_correction` is set. */
  readonly samplerLogprobs?: Tensor;
  /** [R, 1] */
  readonly advantages: Tensor;
  /** [R, C] float32: 1 for tokens to learn from, else 0. What the inputs hold elsewhere has no effect. */
  readonly mask: Tensor;
  /** Scalars of the whole optimiser step, the same for each of its micro-batches. */
  readonly totals: {
    /** Tokens to learn from. */
    readonly tokens: Tensor;
    readonly sequences: Tensor;
  };
}

/** Hyper-parameters under TRL's names. */
export interface LossSettings {
  readonly loss_type: LossType;
  /** How far a ratio may fall below 1 until a bad token is bad enough. */
  readonly epsilon: number;
  /** How far a ratio may rise above 1 until a good token is good enough; `null` is `epsilon`. Yu et al. 2025, arXiv:2503.14476. */
  readonly epsilon_high: number | null;
  /** Bounds the ratio of bad tokens too; more than 1 + epsilon_high. Prime Intellect 2025, arXiv:2505.07291. */
  readonly delta: number | null;
  /** Weight of the KL divergence from the reference. */
  readonly beta: number;
  /** Measure the KL divergence even where `beta` is 0. */
  readonly log_kl: boolean;
  /** Weigh the KL divergence by the importance ratio: see `KlOptions`. */
  readonly use_bias_correction_kl: boolean;
  /** One ratio a token, or one a sequence: the geometric mean over its tokens. GSPO, Zheng et al. 2025, arXiv:2507.18071. */
  readonly importance_sampling_level: 'token' | 'sequence';
  /** Weigh tokens by trainer / sampler, where those differ. @default null: not */
  readonly sampling_correction?: SamplingCorrection | null;
  /** What `dr_grpo` takes for the length of every completion. */
  readonly max_completion_length: number;
}

export interface GrpoLoss {
  /** Scalar: this micro-batch's share of the step's loss. */
  readonly loss: Tensor;
  /** Scalars under TRL's names: `clip_ratio/…`, and `kl` if it is used or logged. `foldMetrics` makes the step's of the micro-batches'. */
  readonly metrics: Readonly<Record<string, Tensor>>;
}

/** The loss of one micro-batch: the clipped surrogate and β KL of each token, weighted as `loss_type` says. */
export function grpoLoss(inputs: LossInputs, settings: LossSettings): GrpoLoss {
  const { advantages, mask, totals } = inputs;
  // Whatever padding holds must not reach exp: 0 · ∞ is not a number.
  const unpadded = (x: Tensor) => where(greater(mask, 0), x, 0);
  const logprobs = unpadded(inputs.logprobs);
  const oldLogprobs = unpadded(inputs.oldLogprobs);
  const logRatio = sub(logprobs, oldLogprobs); // [R, C]
  const lengths = sumTokens(mask); // [R, 1]
  const sizes = { lengths: maximum(lengths, 1), tokens: maximum(totals.tokens, 1), sequences: totals.sequences };

  const level = {
    token: () => ({ ratio: exp(logRatio), mask, total: totals.tokens }),
    sequence: () => ({
      ratio: exp(div(sumTokens(logRatio), sizes.lengths)),
      mask: cast(greater(lengths, 0), 'float32'),
      total: totals.sequences,
    }),
  }[settings.importance_sampling_level]();
  const range = clipRange(settings);
  let tokenLoss = clippedSurrogate(level.ratio, advantages, range, settings.delta); // [R, C] or [R, 1]
  const metrics: Record<string, Tensor> = clipMetrics({ ...level, ...range, advantages });
  if (settings.sampling_correction) {
    if (!inputs.samplerLogprobs) throw new Error('a sampling correction needs samplerLogprobs');
    const samplerLogprobs = unpadded(inputs.samplerLogprobs);
    const correction = samplingCorrection(
      { oldLogprobs, samplerLogprobs, mask, tokens: totals.tokens },
      settings.sampling_correction,
    );
    tokenLoss = mul(tokenLoss, correction.ratio);
    Object.assign(metrics, correction.metrics);
  }
  if (settings.beta !== 0 || settings.log_kl) {
    if (!inputs.referenceLogprobs) throw new Error('a KL divergence needs referenceLogprobs');
    const divergence = klDivergence(logprobs, unpadded(inputs.referenceLogprobs), {
      ...(settings.use_bias_correction_kl && { importanceRatio: level.ratio }),
    });
    metrics.kl = div(reduceSum(mul(divergence, mask)), sizes.tokens);
    if (settings.beta !== 0) tokenLoss = add(tokenLoss, mul(settings.beta, divergence));
  }
  const weights = mul(mask, tokenWeights[settings.loss_type](sizes, settings)); // [R, C]
  return { loss: reduceSum(mul(tokenLoss, weights)), metrics };
}

interface Sizes {
  /** [R, 1] tokens of each sequence. */
  readonly lengths: Tensor;
  /** Scalars of the whole step. */
  readonly tokens: Tensor;
  readonly sequences: Tensor;
}

/** What a token counts for, the one thing in which the losses differ: [R, 1] or a scalar. */
const tokenWeights: Record<LossType, (sizes: Sizes, settings: LossSettings) => Tensor> = {
  /** The mean over sequences of the mean over tokens: a token of a short sequence counts more. Shao et al. 2024, arXiv:2402.03300. */
  grpo: ({ lengths, sequences }) => reciprocal(mul(lengths, sequences)),
  /** The mean over tokens. Yu et al. 2025, arXiv:2503.14476. */
  dapo: ({ tokens }) => reciprocal(tokens),
  /** TRL's means over each micro-batch. Here a step is one batch however it is split, and so this is `dapo`. */
  bnpo: ({ tokens }) => reciprocal(tokens),
  /** As the mean over tokens, were all completions of the greatest length: no bias towards any length. Liu et al. 2025, arXiv:2503.20783. */
  dr_grpo: ({ sequences }, { max_completion_length }) => reciprocal(mul(sequences, max_completion_length)),
};

interface ClipRange {
  readonly lowest: number;
  readonly highest: number;
}

function clipRange({ epsilon, epsilon_high }: LossSettings): ClipRange {
  return { lowest: 1 - epsilon, highest: 1 + (epsilon_high ?? epsilon) };
}

/** −min(ratio · A, clipped ratio · A): PPO's objective, to be minimised. Schulman et al. 2017, arXiv:1707.06347. */
function clippedSurrogate(ratio: Tensor, advantages: Tensor, { lowest, highest }: ClipRange, delta: number | null) {
  const bounded = delta === null ? ratio : minimum(ratio, delta);
  return neg(minimum(mul(bounded, advantages), mul(clip(ratio, lowest, highest), advantages)));
}
