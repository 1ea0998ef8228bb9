// The rows of a batch, each with a slot of the cache. Rows with the same prompt can keep its keys and values in the slot of one of them.
import type { KeyValueCache } from './key-value-cache.ts';
import type { SampledRow } from './sampled-row.ts';

/** The first tokens of a row, which only the slot of another row holds. The lender has no loan itself. */
interface Loan {
  readonly lender: SampledRow;
  readonly count: number;
}

export class CacheSlots implements Disposable {
  /** A row's index is its slot. */
  readonly #rows: SampledRow[] = [];
  readonly #loans = new Map<SampledRow, Loan>();
  /** How many tokens at the beginning of each slot have never been written since the cache was made, so that they take no memory. */
  #unwritten: number[] = [];
  #cache: KeyValueCache;
  readonly lends: boolean;

  /**
   * @param cache without slots
   * @param lends whether decoding steps read the tokens that a row shares with its twin from the twin's slot
   */
  constructor(cache: KeyValueCache, lends: boolean) {
    this.#cache = cache;
    this.lends = lends;
  }

  get rows(): readonly SampledRow[] {
    return this.#rows;
  }

  /** How many rows there are slots for. */
  get count(): number {
    return this.#cache.slots;
  }

  /** How many tokens each slot has room for. */
  get room(): number {
    return this.#cache.room;
  }

  /** How many tokens there is memory for in all slots together. */
  get size(): number {
    return this.#cache.size - this.lent;
  }

  /** The tokens that rows borrow, which take no memory of their own. */
  get lent(): number {
    return this.#rows.reduce((sum, row, slot) => sum + Math.min(this.#unwritten[slot]!, this.#lentTo(row)), 0);
  }

  /** See `KeyValueCache.tensors`. */
  tensors(first: number, count: number): ReturnType<KeyValueCache['tensors']> {
    return this.#cache.tensors(first, count);
  }

  /** Gives a row the next slot, which has its tokens already. */
  add(row: SampledRow): void {
    this.#place(row, this.#rows.length);
  }

  /** Gives a row the next slot, and copies its first `count` tokens, and the states after them, from a cache with a single slot. */
  addCopied(row: SampledRow, from: KeyValueCache, count: number): void {
    this.#cache.copyStatesFrom(from, 0, this.#rows.length);
    this.#cache.copyFrom(from, 0, this.#rows.length, count);
    this.#place(row, this.#rows.length);
  }

  /**
   * Gives a row the next slot. Its first `count` tokens are those of another row, which lends them. If layers have states, the other has read no more yet.
   * @param decodes whether only decoding steps read the row from here on. Otherwise its tokens are copied
   */
  addSharing(row: SampledRow, other: SampledRow, count: number, decodes: boolean): void {
    const loan = this.#loans.get(other);
    const lent = Math.min(count, loan?.count ?? count);
    const lender = loan?.lender ?? other;
    const slot = this.#rows.length;
    this.#cache.copyStatesFrom(this.#cache, this.#slotOf(other), slot);
    if (this.lends && decodes && lent === count) this.#loans.set(row, { lender, count });
    else {
      this.#cache.copyFrom(this.#cache, this.#slotOf(lender), slot, lent);
      this.#cache.copyFrom(this.#cache, this.#slotOf(other), slot, count, lent);
    }
    this.#place(row, slot);
  }

  /** Frees a row's slot. If the row lent tokens, a borrower moves there and lends them to the others. The last row moves to the free slot. */
  remove(row: SampledRow): void {
    let free = this.#slotOf(row);
    this.#loans.delete(row);
    const heir = this.#heirOf(row);
    if (heir) {
      const left = this.#slotOf(heir);
      this.#move(heir, left, free);
      this.#loans.delete(heir);
      for (const [other, { lender, count }] of this.#loans)
        if (lender === row) this.#loans.set(other, { lender: heir, count });
      free = left;
    }
    const last = this.#rows.length - 1;
    if (free !== last) this.#move(this.#rows[last]!, last, free);
    this.#rows.pop();
  }

  removeAll(): SampledRow[] {
    this.#loans.clear();
    return this.#rows.splice(0);
  }

  /** Copies the first `end` tokens of a row, and its states, into slot 0 of a cache. */
  copyTo(cache: KeyValueCache, row: SampledRow, end = row.cached): void {
    const { lender, count } = this.#loans.get(row) ?? { lender: row, count: 0 };
    cache.copyFrom(this.#cache, this.#slotOf(lender), 0, Math.min(count, end));
    cache.copyFrom(this.#cache, this.#slotOf(row), 0, end, count);
    cache.copyStatesFrom(this.#cache, this.#slotOf(row), 0);
  }

  resize(slots: number, room: number): void {
    const held = this.#rows.map((row) => [this.#lentTo(row), row.cached] as const);
    this.#cache = this.#cache.resized(slots, room, held);
    this.#unwritten = held.map(([lent]) => lent);
  }

  /** For each row the slot of the first row that holds the same prompt, and how many tokens both share. */
  twins(): [slot: number, count: number][] {
    const holders = new Map<string, number>();
    for (const [slot, row] of this.#rows.entries())
      if (!this.#loans.has(row) && !holders.has(row.promptKey)) holders.set(row.promptKey, slot);
    return this.#rows.map((row) => {
      const loan = this.#loans.get(row);
      const slot = loan ? this.#slotOf(loan.lender) : holders.get(row.promptKey)!;
      const prompt = Math.min(row.request.promptIds.length, this.#rows[slot]!.cached, row.cached);
      return [slot, Math.max(loan?.count ?? 0, prompt)];
    });
  }

  dispose(): void {
    this.#cache.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #slotOf(row: SampledRow): number {
    return this.#rows.indexOf(row);
  }

  #holderOf(row: SampledRow): SampledRow {
    return this.#loans.get(row)?.lender ?? row;
  }

  #lentTo(row: SampledRow): number {
    return this.#loans.get(row)?.count ?? 0;
  }

  /** Of the rows that borrow from a row, one that borrows most, so that it can lend to the others; a row that stays in the batch, if there is one. */
  #heirOf(row: SampledRow): SampledRow | undefined {
    const borrowers = [...this.#loans.keys()].filter((other) => this.#holderOf(other) === row);
    const most = Math.max(...borrowers.map((other) => this.#lentTo(other)));
    const heirs = borrowers.filter((other) => this.#lentTo(other) === most);
    return heirs.find(({ hasEnded }) => !hasEnded) ?? heirs[0];
  }

  /** Copies a row's contents of a slot to another slot, and moves the row there. */
  #move(row: SampledRow, from: number, to: number): void {
    this.#cache.copyFrom(this.#cache, from, to, row.cached, this.#lentTo(row));
    this.#cache.copyStatesFrom(this.#cache, from, to);
    this.#place(row, to);
  }

  #place(row: SampledRow, slot: number): void {
    this.#rows[slot] = row;
    this.#unwritten[slot] = Math.min(this.#unwritten[slot] ?? this.room, this.#lentTo(row));
  }
}
