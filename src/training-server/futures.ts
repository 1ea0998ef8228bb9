// Results that clients fetch later, by the id that the first answer gave them.
import { setTimeout as after } from 'node:timers/promises';
import { Refusal } from './refusal.ts';

/** The most results that may be pending at a time. Further requests are refused. */
const MOST_PENDING = 8192;
/** The most results that wait to be fetched, and for how many milliseconds they do. */
const MOST_WAITING = 16_384;
const LONGEST_WAIT = 60 * 60_000;
/** The most fetched results that are kept, and the most bytes of them: their answers may have been lost on the way. */
const MOST_FETCHED = 1024;
const MOST_FETCHED_BYTES = 64 * 2 ** 20;

/** A result, or the reason why there is none. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export class Futures<T> {
  readonly #bytesOf: (value: T) => number;
  readonly #outcomes = new Map<string, Promise<Outcome<T>>>();
  readonly #cancels = new Map<string, () => void>();
  /** Ids of finished results that nobody has fetched, with the time at which they finished, the oldest first. */
  readonly #waiting = new Map<string, number>();
  /** Ids of those that were fetched, with their bytes, in the order of that. */
  readonly #fetched = new Map<string, number>();
  #fetchedBytes = 0;

  /** @param bytesOf about how much memory a result takes */
  constructor(bytesOf: (value: T) => number) {
    this.#bytesOf = bytesOf;
  }

  /** Whether a request was made before: clients repeat those whose answers they did not get. */
  has(id: string): boolean {
    return this.#outcomes.has(id);
  }

  /** Throws a `Refusal` if too many are pending. */
  add(id: string, work: () => Promise<T>, cancel?: () => void): void {
    if (this.#outcomes.size - this.#waiting.size - this.#fetched.size >= MOST_PENDING)
      throw new Refusal(`${MOST_PENDING} requests wait for their results: try again later`, 429);
    const outcome = work().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    this.#outcomes.set(id, outcome);
    if (cancel) this.#cancels.set(id, cancel);
    outcome.then(() => this.#finish(id));
  }

  /** Undefined if the result is not there after so many milliseconds. Throws a `Refusal` for an unknown id. */
  async retrieve(id: string, milliseconds: number): Promise<Outcome<T> | undefined> {
    const outcome = this.#outcomes.get(id);
    if (!outcome)
      throw new Refusal(
        `no request has the id ${id}: its result was fetched long ago, or the server was restarted`,
        404,
      );
    const stop = new AbortController();
    try {
      const found = await Promise.race([outcome, after(milliseconds, undefined, { signal: stop.signal })]);
      if (found) this.#noteFetched(id, found);
      return found;
    } finally {
      stop.abort();
    }
  }

  /** Ends the work for a result that nobody waits for. */
  cancel(id: string): void {
    this.#cancels.get(id)?.();
  }

  #finish(id: string): void {
    this.#cancels.delete(id);
    const now = performance.now();
    this.#waiting.set(id, now);
    for (const [oldest, since] of this.#waiting) {
      if (this.#waiting.size <= MOST_WAITING && now - since <= LONGEST_WAIT) break;
      this.#waiting.delete(oldest);
      this.#outcomes.delete(oldest);
    }
  }

  #noteFetched(id: string, outcome: Outcome<T>): void {
    if (!this.#waiting.delete(id)) return;
    const bytes = 'value' in outcome ? this.#bytesOf(outcome.value) : 0;
    this.#fetched.set(id, bytes);
    this.#fetchedBytes += bytes;
    for (const [oldest, itsBytes] of this.#fetched) {
      const isEnough = this.#fetched.size <= MOST_FETCHED && this.#fetchedBytes <= MOST_FETCHED_BYTES;
      if (isEnough || oldest === id) break;
      this.#fetched.delete(oldest);
      this.#fetchedBytes -= itsBytes;
      this.#outcomes.delete(oldest);
    }
  }
}
