// Time limits for asynchronous code that may never finish.

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** Rejects with a `TimeLimitError` when the time is up and abandons the work. Synchronous work cannot be stopped. */
export async function withinTime<T>(work: () => T | PromiseLike<T>, milliseconds: number, what = 'it'): Promise<T> {
  const outcome = work();
  // Most code returns at once, and setting a timer would take longer than that.
  if (!isPromiseLike(outcome) || milliseconds === Number.POSITIVE_INFINITY) return outcome;
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
