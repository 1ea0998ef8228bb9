// The GRPO losses, each once, as a graph expression over a padded layout: R sequences by C completion tokens.
// A micro-batch yields its share of the optimiser step's loss; shares add up, so the gradient does not depend on the split.
import type { Tensor } from '../tensor/graph.ts';
import {
  add,
  and,
  cast,
  div,
  exp,
  greater,
  less,
  maximum,
  mul,
  reciprocal,
  reduceSum,
  stopGradient,
  sub,
  where,
} from '../tensor/ops.ts';
import { klDivergence } from './kl.ts';
import { sumTokens } from './loss-metrics.ts';
import type { LossSettings, LossType } from './loss-settings.ts';
import { samplingCorrection } from './sampling-correction.ts';
import { cappedWeight, clippedRatio, gammaWeight, type Surrogate, softGate } from './surrogates.ts';

export interface LossInputs {
  /** [R, C] under the weights that are trained: what the loss is differentiated by. */
  readonly logprobs: Tensor;
  /** [R, C] under the weights that the update starts from; where those are the same, `stopGradient(logprobs)`. */
  readonly oldLogprobs: Tensor;
  /** [R, C] under the frozen reference; needed if `beta` is not 0 or `log_kl` is set. */
  readonly referenceLogprobs?: Tensor;
  /** [R, C] as the sampler told them; needed if `sampling_correction` is set, and what the off-policy mask goes by if given. */
  readonly samplerLogprobs?: Tensor;
  /** [R, 1] */
  readonly advantages: Tensor;
  /** [R, C] float32: 1 for tokens to learn from, else 0. What the inputs hold elsewhere has no effect. */
  readonly mask: Tensor;
  /** [R, C] float32: 1 for the tokens of the mask that `top_entropy_quantile` leaves, else 0. @default the mask */
  readonly entropyMask?: Tensor;
  /** Rewards entropy. @default not */
  readonly entropyBonus?: {
    /** Scalar: nats of entropy are worth this much. */
    readonly coefficient: Tensor;
    /** [R, C] of the distribution that each token was drawn from, in nats. */
    readonly entropy: Tensor;
  };
  /** Scalars of the whole optimiser step, the same for each of its micro-batches. */
  readonly totals: {
    /** Tokens to learn from. */
    readonly tokens: Tensor;
    /** Sequences with such a token. */
    readonly sequences: Tensor;
    /** Tokens of the entropy mask. @default tokens */
    readonly entropyTokens?: Tensor;
  };
}

export interface GrpoLoss {
  /** Scalar: this micro-batch's share of the step's loss. */
  readonly loss: Tensor;
  /**
   * Scalars under TRL's names: those of the surrogate such as `clip_ratio/…`; `kl` if it is used or logged; `sampling/…` with a sampling
   * correction; with an entropy bonus `policy_loss`, the loss without it. `foldMetrics` makes the step's of the micro-batches'.
   */
  readonly metrics: Readonly<Record<string, Tensor>>;
}

/** The loss of one micro-batch: the surrogate and β KL of each token, weighted as `loss_type` says, less the entropy bonus. */
export function grpoLoss(inputs: LossInputs, settings: LossSettings): GrpoLoss {
  const { advantages, mask, totals, entropyMask, entropyBonus } = inputs;
  // Whatever padding holds must not reach exp: 0 · ∞ is not a number.
  const unpadded = (x: Tensor) => where(greater(mask, 0), x, 0);
  const logprobs = unpadded(inputs.logprobs);
  const oldLogprobs = unpadded(inputs.oldLogprobs);
  const samplerLogprobs = inputs.samplerLogprobs && unpadded(inputs.samplerLogprobs);
  const logRatio = sub(logprobs, oldLogprobs); // [R, C]
  const lengths = sumTokens(mask); // [R, 1]
  const sizes = {
    lengths: maximum(lengths, 1),
    tokens: maximum(totals.tokens, 1),
    sequences: maximum(totals.sequences, 1),
  };
  const level = {
    token: () => ({ ratio: exp(logRatio), mask, total: totals.tokens }),
    sequence: () => ({
      ratio: exp(div(sumTokens(logRatio), sizes.lengths)),
      mask: cast(greater(lengths, 0), 'float32'),
      total: totals.sequences,
    }),
  }[settings.importance_sampling_level]();

  const correction = settings.sampling_correction
    ? samplingCorrection(
        { oldLogprobs, samplerLogprobs: needed(samplerLogprobs, 'samplerLogprobs'), mask, totals },
        settings.sampling_correction,
      )
    : undefined;
  const { surrogate, weight } = losses[settings.loss_type];
  const sequences = totals.sequences;
  const { tokenLoss: plainLoss, metrics: surrogateMetrics } = surrogate(
    { logprobs, logRatio, advantages, mask, level, sequences, ...(correction && { correction: correction.ratio }) },
    settings,
  );
  const metrics: Record<string, Tensor> = { ...surrogateMetrics, ...correction?.metrics };

  let tokenLoss = plainLoss; // [R, C] or [R, 1]
  if (settings.off_policy_mask_threshold !== null) {
    const distance = sub(samplerLogprobs ?? oldLogprobs, stopGradient(logprobs));
    const stale = greater(div(sumTokens(distance), sizes.lengths), settings.off_policy_mask_threshold);
    tokenLoss = where(and(stale, less(advantages, 0)), 0, tokenLoss);
  }
  if (entropyMask) tokenLoss = mul(tokenLoss, entropyMask);
  if (settings.beta !== 0 || settings.log_kl) {
    const reference = unpadded(needed(inputs.referenceLogprobs, 'referenceLogprobs'));
    const divergence = klDivergence(logprobs, reference, {
      estimator: settings.kl_estimator,
      ...(settings.use_bias_correction_kl && { importanceRatio: level.ratio }),
    });
    metrics.kl = div(reduceSum(mul(divergence, mask)), sizes.tokens);
    if (settings.beta !== 0) tokenLoss = add(tokenLoss, mul(settings.beta, divergence));
  }
  const loss = reduceSum(mul(tokenLoss, mul(mask, weight(sizes, settings))));
  if (!entropyBonus) return { loss, metrics };

  metrics.policy_loss = loss;
  const total = maximum(totals.entropyTokens ?? totals.tokens, 1);
  const entropy = div(reduceSum(mul(unpadded(entropyBonus.entropy), entropyMask ?? mask)), total);
  return { loss: sub(loss, mul(entropyBonus.coefficient, entropy)), metrics };
}

interface LossDefinition {
  /** What one token's loss is. */
  readonly surrogate: Surrogate;
  /** What a token counts for: [R, 1] or a scalar. */
  readonly weight: (sizes: Sizes, settings: LossSettings) => Tensor;
}

interface Sizes {
  /** [R, 1] tokens of each sequence. */
  readonly lengths: Tensor;
  /** Scalars of the whole step. */
  readonly tokens: Tensor;
  readonly sequences: Tensor;
}

type Weight = LossDefinition['weight'];

/** The mean over sequences of the mean over tokens: a token of a short sequence counts more. */
const sequenceMeans: Weight = ({ lengths, sequences }) => reciprocal(mul(lengths, sequences));
/** The mean over tokens. */
const tokenMean: Weight = ({ tokens }) => reciprocal(tokens);
/** As the mean over tokens, were all completions of the greatest length. */
const fixedLength: Weight = ({ sequences }, { max_completion_length }) =>
  reciprocal(mul(sequences, max_completion_length));
/** The mean over sequences of the sum over tokens. */
const sequenceSums: Weight = ({ sequences }) => reciprocal(sequences);

/** In what the losses differ. */
const losses: Readonly<Record<LossType, LossDefinition>> = {
  /** Shao et al. 2024, arXiv:2402.03300. */
  grpo: { surrogate: clippedRatio, weight: sequenceMeans },
  /** TRL's mean over each micro-batch. Here a step is one batch however it is split, and so this is `dapo`. */
  bnpo: { surrogate: clippedRatio, weight: tokenMean },
  /** No bias towards any length. Liu et al. 2025, arXiv:2503.20783. */
  dr_grpo: { surrogate: clippedRatio, weight: fixedLength },
  /** Yu et al. 2025, arXiv:2503.14476. */
  dapo: { surrogate: clippedRatio, weight: tokenMean },
  /** MiniMax 2025, arXiv:2506.13585. */
  cispo: { surrogate: cappedWeight, weight: tokenMean },
  /** Gao et al. 2025, arXiv:2511.20347. */
  sapo: { surrogate: softGate, weight: sequenceMeans },
  /** Shen et al. 2026, arXiv:2602.10693. */
  vespo: { surrogate: gammaWeight, weight: tokenMean },
  /** GSPO without its bias towards short sequences: meant for ratios of sequences. Liu et al. 2026, arXiv:2602.05261. */
  luspo: { surrogate: clippedRatio, weight: sequenceSums },
};

function needed(tensor: Tensor | undefined, name: keyof LossInputs): Tensor {
  if (!tensor) throw new Error(`the loss needs ${name}`);
  return tensor;
}
