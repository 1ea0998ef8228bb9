// Assertions that numbers are nearly the same.
import assert from 'node:assert/strict';
import type { Value } from '../src/tensor/value.ts';

/**
 * Fails where a number is off by more than `tolerance` times the largest expected one (or times 1, if all are smaller).
 * Infinities must be the same, and NaN is never close.
 */
export function assertClose(actual: Value, expected: Value, tolerance: number, what = 'value'): void {
  assert.deepEqual([...actual.shape], [...expected.shape], `${what}: shape`);
  const finite = Array.from(expected.data, Math.abs).filter(Number.isFinite);
  const allowed = tolerance * finite.reduce((most, size) => Math.max(most, size), 1);
  for (const [i, number] of expected.data.entries()) {
    const close = actual.data[i] === number || Math.abs(actual.data[i]! - number) <= allowed;
    assert.ok(close, `${what}: element ${i} is ${actual.data[i]}, not ${number} ± ${allowed}`);
  }
}

/** Fails where a number is off by more than `tolerance`, or than what it says for the expected number. NaN is never near. */
export function assertNear(
  actual: ArrayLike<number | null>,
  expected: ArrayLike<number>,
  tolerance: number | ((expected: number) => number),
  what = 'numbers',
): void {
  assert.equal(actual.length, expected.length, what);
  for (const [i, number] of Array.from(expected).entries()) {
    const allowed = typeof tolerance === 'number' ? tolerance : tolerance(number);
    const found = actual[i] ?? Number.NaN;
    assert.ok(Math.abs(found - number) <= allowed, `${what}: element ${i} is ${actual[i]}, not ${number} ± ${allowed}`);
  }
}

/** Fails where a number is not what an oracle says: |Δ| ≤ 1e-6 + 1e-4·|reference|. */
export function assertAgrees(actual: ArrayLike<number>, reference: ArrayLike<number>, what?: string): void {
  assertNear(actual, reference, (number) => 1e-6 + 1e-4 * Math.abs(number), what);
}
