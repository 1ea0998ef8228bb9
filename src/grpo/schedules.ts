// Learning-rate schedules with warm-up, equal to those of transformers in every step.
import { trainingDefaults } from './training-defaults.ts';

/** `constant` keeps its warm-up, if any: transformers calls that `constant_with_warmup`. */
export const learningRateSchedules = ['constant', 'linear', 'cosine', 'cosine_with_min_lr'] as const;
export type LearningRateSchedule = (typeof learningRateSchedules)[number];

export interface LearningRateOptions {
  /** The highest learning rate of the schedule. */
  readonly learning_rate: number;
  /** @default 'constant' */
  readonly lr_scheduler_type?: LearningRateSchedule;
  /** The fraction of all steps, rounded up, over which the rate rises from 0 to its peak. @default 0 */
  readonly warmup_ratio?: number;
  /** For `cosine_with_min_lr`: the rate at its end. */
  readonly lr_scheduler_kwargs?: LeastLearningRate;
  /** The step at which `linear` and `cosine` reach 0. */
  readonly max_steps: number;
}

/** The rate at the end of a schedule, one of: */
export interface LeastLearningRate {
  /** A fraction of the peak. */
  readonly min_lr_rate?: number;
  /** The rate itself. */
  readonly min_lr?: number;
}

/** Half a cosine wave, from 1 to 0. Loshchilov and Hutter 2016, arXiv:1608.03983, without restarts. */
const cosine = (progress: number) => (1 + Math.cos(Math.PI * progress)) / 2;

/** The fraction of the peak after warm-up; `progress` runs from 0 to 1. */
const decays: Record<LearningRateSchedule, (progress: number, least: number) => number> = {
  constant: () => 1,
  linear: (progress) => 1 - progress,
  cosine,
  cosine_with_min_lr: (progress, least) => least + (1 - least) * cosine(progress),
};

/** The fraction of the peak at which a schedule with a minimum rate ends. */
export function leastFraction({
  learning_rate,
  lr_scheduler_kwargs: { min_lr, min_lr_rate = 0 } = {},
}: Pick<LearningRateOptions, 'learning_rate' | 'lr_scheduler_kwargs'>): number {
  return min_lr !== undefined && learning_rate > 0 ? min_lr / learning_rate : min_lr_rate;
}

/** The learning rate of each optimiser step, counted from 0. With warm-up the first is 0. */
export function learningRateSchedule(options: LearningRateOptions): (step: number) => number {
  const { learning_rate, max_steps } = options;
  const { lr_scheduler_type = trainingDefaults.lr_scheduler_type, warmup_ratio = trainingDefaults.warmup_ratio } =
    options;
  const least = leastFraction(options);
  const warmupSteps = Math.ceil(warmup_ratio * max_steps);
  return (step) => {
    if (step < warmupSteps) return (learning_rate * step) / warmupSteps;
    const progress = Math.min(1, (step - warmupSteps) / Math.max(1, max_steps - warmupSteps));
    return learning_rate * decays[lr_scheduler_type](progress, least);
  };
}
