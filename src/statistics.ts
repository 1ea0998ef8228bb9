// Averages of numbers, and which numbers can be averaged.

/** The largest score or metric that user code may return: its square, and sums of many, are still finite. */
const LARGEST_MEASURED = 1e100;

/** Whether a value that user code returned is a number whose mean and deviation exist. */
export function isMeasurable(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LARGEST_MEASURED;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The standard deviation of the values as a whole population, not as a sample of one. */
export function standardDeviation(values: readonly number[]): number {
  const center = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)));
}
