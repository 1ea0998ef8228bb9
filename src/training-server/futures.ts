// Results that clients fetch later, by the id that the first answer gave them.
import { setTimeout as after } from 'node:timers/promises';
import { Refusal } from './refusal.ts';

/** The most results that may be pending at a time. Further requests are refused. */
const MOST_PENDING = 8192;
/** The most finished results that are kept, fetched ones included, since their answers may have been lost on the way. */
const MOST_FINISHED = 1024;

/** A result, or the reason why there is none. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export class Futures<T> {
  readonly #outcomes = new Map<string, Promise<Outcome<T>>>();
  readonly #cancels = new Map<string, () => void>();
  /** Ids of finished results, in the order in which they finished. */
  readonly #finished: string[] = [];

  /** Whether a request was made before: clients repeat those whose answers they did not get. */
  has(id: string): boolean {
    return this.#outcomes.has(id);
  }

  /** Throws a `Refusal` if too many are pending. */
  add(id: string, work: () => Promise<T>, cancel?: () => void): void {
    if (this.#outcomes.size - this.#finished.length >= MOST_PENDING)
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
      return await Promise.race([outcome, after(milliseconds, undefined, { signal: stop.signal })]);
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
    this.#finished.push(id);
    while (this.#finished.length > MOST_FINISHED) this.#outcomes.delete(this.#finished.shift()!);
  }
}
