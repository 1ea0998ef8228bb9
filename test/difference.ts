// How far two lists of numbers lie apart, for tests that hold the native engine against another and say by how much it differs.

/** The largest difference, as a fraction of the largest expected number. NaN, which is within no bound, if any number is. */
export function largestDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) throw new Error(`${actual.length} numbers to compare with ${expected.length}`);
  const differences = Array.from(expected, (number, i) => Math.abs(actual[i]! - number));
  const sizes = Array.from(expected, Math.abs);
  return most(differences) / most(sizes);
}

/** The largest of some numbers, however many. */
export function most(numbers: readonly number[]): number {
  return numbers.reduce((largest, number) => Math.max(largest, number), 0);
}
