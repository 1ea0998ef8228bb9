// Keeps what several tests compare with, by what it was computed from: exact results take JavaScript longer than what they check.
import { createHash } from 'node:crypto';

const results = new Map<string, unknown>();

/** The result of `compute`, which depends on nothing but `from`. It must not be changed. */
export function computedOnce<T>(from: readonly unknown[], compute: () => T): T {
  const hash = createHash('sha256');
  for (const part of from) {
    const isNumbers = part instanceof Float32Array || part instanceof Float64Array;
    hash.update(isNumbers ? part : `\n${JSON.stringify(part)}\n`);
  }
  const key = hash.digest('hex');
  if (!results.has(key)) results.set(key, compute());
  return results.get(key) as T;
}
