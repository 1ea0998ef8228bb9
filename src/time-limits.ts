// Time limits for code that may never answer.

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** Rejects with a `TimeLimitError` once the work takes longer; what it does then is not waited for. Work that never gives up the thread cannot be stopped. */
export async function withinTime<T>(work: () => T | PromiseLike<T>, milliseconds: number, what = 'it'): Promise<T> {
  const outcome = work();
  // Most code answers at once; a timer for each of its answers would take longer than they do.
  if (!isPromiseLike(outcome)) return outcome;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tookLonger(what, milliseconds)), milliseconds);
  });
  try {
    return await Promise.race([outcome, limit]);
  } finally {
    clearTimeout(timer);
  }
}

export function tookLonger(what: string, milliseconds: number): TimeLimitError {
  return new TimeLimitError(`${what} took longer than ${Number((milliseconds / 1000).toPrecision(3))} s`);
}

export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
