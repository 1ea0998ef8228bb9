// Work that an abort signal cancels.
import { cancelled } from './errors.ts';

/** Throws `CANCELLED` as soon as the signal is aborted. The work is then abandoned. */
export async function unlessCancelled<T>(
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
  message: string,
): Promise<T> {
  if (!signal) return work();
  if (signal.aborted) throw cancelled(signal, message);
  let cancel = () => {};
  const cancellation = new Promise<never>((_, reject) => {
    cancel = () => reject(cancelled(signal, message));
    signal.addEventListener('abort', cancel);
  });
  try {
    return await Promise.race([work(), cancellation]);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
