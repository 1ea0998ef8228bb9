// Time limits for code that may never answer.

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** Rejects with a `TimeLimitError` once the work takes longer; what it does then is not waited for. Work that never gives up the thread cannot be stopped. */
export async function withinTime<T>(work: () => Promise<T>, milliseconds: number, what = 'it'): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TimeLimitError(`${what} took longer than ${Number((milliseconds / 1000).toPrecision(3))} s`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([work(), limit]);
  } finally {
    clearTimeout(timer);
  }
}
