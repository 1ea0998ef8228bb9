// 95 % intervals: how far off an average over a sample of problems may be.
import { randomStream } from '../random.ts';

export type Interval = readonly [low: number, high: number];

const RESAMPLES = 1000;
/** The standard normal's 97.5 % quantile. */
const Z = 1.959964;

/** The interval of a proportion. Wilson 1927; unlike the normal approximation it holds for few trials and near 0 and 1. */
export function wilsonInterval(successes: number, trials: number): Interval {
  const proportion = successes / trials;
  const scale = 1 + Z ** 2 / trials;
  const center = (proportion + Z ** 2 / (2 * trials)) / scale;
  const spread = (Z / scale) * Math.sqrt((proportion * (1 - proportion)) / trials + Z ** 2 / (4 * trials ** 2));
  return [Math.max(0, center - spread), Math.min(1, center + spread)];
}

/** The interval of a mean, by drawing as many values again and again (Efron 1979). The same values give the same interval. */
export function bootstrapInterval(values: readonly number[]): Interval {
  const random = randomStream(values.length);
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[random.integer(values.length)]!;
    return sum / values.length;
  }).sort((a, b) => a - b);
  return [means[Math.floor(RESAMPLES * 0.025)]!, means[Math.ceil(RESAMPLES * 0.975) - 1]!];
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
