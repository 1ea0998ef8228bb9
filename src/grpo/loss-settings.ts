// The hyper-parameters of the losses, under TRL's names: those of the configuration are these, letter for letter.
import type { KlEstimator } from './kl.ts';
import type { SamplingCorrection } from './sampling-correction.ts';

/** What each of them is: the table in losses.ts. */
export type LossType = 'grpo' | 'bnpo' | 'dr_grpo' | 'dapo' | 'cispo' | 'sapo' | 'vespo' | 'luspo';

export interface LossSettings extends SoftGateSettings, GammaSettings, EntropyBonusSettings {
  readonly loss_type: LossType;
  /** How far a ratio may fall below 1 until a bad token is bad enough. */
  readonly epsilon: number;
  /**
   * How far a ratio may rise above 1 until a good token is good enough; `null` is `epsilon`. Yu et al. 2025, arXiv:2503.14476.
   * To `cispo` the largest ratio itself, such as 5: it needs one.
   */
  readonly epsilon_high: number | null;
  /** Bounds the ratio of bad tokens too; more than 1 + epsilon_high. Prime Intellect 2025, arXiv:2505.07291. */
  readonly delta: number | null;
  /** Weight of the KL divergence from the reference. */
  readonly beta: number;
  /** Measure the KL divergence even where `beta` is 0. */
  readonly log_kl: boolean;
  readonly kl_estimator: KlEstimator;
  /** Weigh the KL divergence by the importance ratio: see `KlOptions`. */
  readonly use_bias_correction_kl: boolean;
  /** One ratio a token, or one a sequence: the geometric mean over its tokens. GSPO, Zheng et al. 2025, arXiv:2507.18071. */
  readonly importance_sampling_level: 'token' | 'sequence';
  /** Weigh tokens by trainer / sampler, where those differ. @default null: not */
  readonly sampling_correction?: SamplingCorrection | null;
  /**
   * Bad sequences that the policy has left behind by more than this, in nats a token since they were sampled, count for nothing; `null`: all
   * count. DeepSeek-AI 2025, arXiv:2512.02556.
   */
  readonly off_policy_mask_threshold: number | null;
  /** Learn from this fraction of the step's tokens, those of the highest entropy. Wang et al. 2025, arXiv:2506.01939. */
  readonly top_entropy_quantile: number;
  /** What `dr_grpo` takes for the length of every completion. */
  readonly max_completion_length: number;
}

/** TRL's defaults, and the configuration's. */
export const defaultLossSettings: LossSettings = {
  loss_type: 'dapo',
  epsilon: 0.2,
  epsilon_high: null,
  delta: null,
  beta: 0,
  log_kl: false,
  kl_estimator: 'k3',
  use_bias_correction_kl: true,
  importance_sampling_level: 'token',
  sampling_correction: null,
  off_policy_mask_threshold: null,
  top_entropy_quantile: 1,
  max_completion_length: 256,
  sapo_temperature_pos: 1,
  sapo_temperature_neg: 1.05,
  vespo_k_pos: 2,
  vespo_lambda_pos: 3,
  vespo_k_neg: 3,
  vespo_lambda_neg: 2,
  entropy_coef: 0,
  use_adaptive_entropy: false,
  entropy_coef_min: 0,
  entropy_coef_max: 1,
  entropy_coef_delta: 0.005,
  entropy_target: 0.2,
};

/** Of `sapo`: how fast its gate closes, for good and for bad tokens. */
export interface SoftGateSettings {
  readonly sapo_temperature_pos: number;
  readonly sapo_temperature_neg: number;
}

/** Of `vespo`: the shape of its weights, for good and for bad sequences. */
export interface GammaSettings {
  readonly vespo_k_pos: number;
  readonly vespo_lambda_pos: number;
  readonly vespo_k_neg: number;
  readonly vespo_lambda_neg: number;
}

export interface EntropyBonusSettings {
  /** What the loss is lowered by for each nat of entropy, or where that begins if it is adaptive. */
  readonly entropy_coef: number;
  /** Raise the coefficient by `entropy_coef_delta` while the entropy is at most `entropy_target`, else lower it: see entropy-control.ts. */
  readonly use_adaptive_entropy: boolean;
  readonly entropy_coef_min: number;
  readonly entropy_coef_max: number;
  readonly entropy_coef_delta: number;
  readonly entropy_target: number;
}
