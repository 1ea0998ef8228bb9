// The assertion that two values have one shape and nearly the same numbers.
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
