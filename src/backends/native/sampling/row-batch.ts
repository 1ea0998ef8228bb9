// Continuous batching: finished rows leave the batch and waiting rows take their place, within a memory budget for keys and values.
import { cacheBytesPerToken, type ModelConfig } from '../../../models/model-config.ts';
import type { SamplingOptions } from '../../../policy.ts';
import type { Decoding, DecodingSession } from './decoding-session.ts';
import { KeyValueCache } from './key-value-cache.ts';
import { prefillBatches } from './prefill-batches.ts';
import type { SampledRow } from './sampled-row.ts';

/** Each slot has room for this many tokens more than its row holds, so that the caches are not reallocated for every token. */
const SPARE_TOKENS = 128;

/** The keys and values of a dialogue that has no row in the batch, in a cache with a single slot. */
interface KeptCache {
  readonly tokens: readonly number[];
  readonly cache: KeyValueCache;
}

export interface RowBatchOptions {
  readonly session: DecodingSession;
  readonly config: ModelConfig;
  /** The most bytes that keys and values may take. A row that is alone in the batch may exceed it. */
  readonly cacheBudget: number;
  readonly sampling: SamplingOptions;
}

export class RowBatch implements Disposable {
  readonly #options: RowBatchOptions;
  /** The budget in tokens. */
  readonly #capacity: number;
  /** The rows in the batch. A row's index is its slot in the cache; when a row leaves, the last row moves to its slot. */
  readonly #active: SampledRow[] = [];
  /** Rows that wait to enter, ordered by dialogue. */
  readonly #waiting: SampledRow[] = [];
  /** The caches of dialogues that have no row in the batch, oldest first. */
  readonly #kept = new Map<number, KeptCache>();
  readonly #decoding: Decoding;
  #cache: KeyValueCache;

  constructor(options: RowBatchOptions) {
    const { config, cacheBudget, session } = options;
    this.#options = options;
    this.#decoding = session.begin();
    this.#capacity = Math.floor(cacheBudget / cacheBytesPerToken(config));
    const { device } = session;
    this.#cache = new KeyValueCache(config, 0, 0, { device, onRelease: () => this.#decoding.releaseCaches() });
  }

  get isEmpty(): boolean {
    return this.#active.length === 0 && this.#waiting.length === 0;
  }

  /** Queues a row, which enters the batch as soon as it fits. Tokens that its dialogue has in a kept cache are not read again. */
  add(row: SampledRow): void {
    const before = this.#waiting.findLastIndex(({ dialogue }) => dialogue < row.dialogue);
    this.#waiting.splice(before + 1, 0, row);
  }

  /** Admits waiting rows, then samples one token for every row. Returns the rows that have ended, ordered by dialogue. */
  async advance(): Promise<SampledRow[]> {
    await this.#admit();
    const ended = this.#removeEnded();
    if (this.#active.length > 0) {
      this.#makeRoom();
      const unread = this.#active.map((row) => row.unread);
      await this.#read(
        0,
        unread,
        this.#active.map((row) => [row]),
      );
      ended.push(...this.#removeEnded());
    }
    return ended.sort((a, b) => a.dialogue - b.dialogue);
  }

  /** Removes all rows and returns them, with what they have sampled so far. */
  cancel(): SampledRow[] {
    return [...this.#active.splice(0), ...this.#waiting.splice(0)];
  }

  /** Frees the kept cache of a dialogue. */
  forget(dialogue: number): void {
    this.#kept.get(dialogue)?.cache.dispose();
    this.#kept.delete(dialogue);
  }

  [Symbol.dispose](): void {
    for (const dialogue of [...this.#kept.keys()]) this.forget(dialogue);
    this.#cache.dispose();
    this.#decoding.dispose();
  }

  /** Tokens that slots and kept caches have room for. */
  get size(): number {
    return this.#cache.size + this.#keptSize;
  }

  get #keptSize(): number {
    return [...this.#kept.values()].reduce((sum, { cache }) => sum + cache.size, 0);
  }

  async #admit(): Promise<void> {
    const entering = this.#chooseEntering();
    if (entering.length === 0) return;
    this.#makeRoomFor(entering);
    const unread: SampledRow[] = [];
    for (const row of entering) {
      this.#waiting.splice(this.#waiting.indexOf(row), 1);
      if (!this.#reuseCache(row)) unread.push(row);
      // A single unread token is left for the decoding step, which reads one token of every row.
      else if (row.length - row.cached > 1) await this.#read(this.#active.length - 1, [row.unread], [[row]]);
    }
    const prompts = Map.groupBy(unread, ({ tokens }) => tokens.join(' '));
    for (const group of prefillBatches([...prompts.values()])) await this.#prefill(group);
  }

  /** The room that slots must have for the rows in the batch, which is at most what they have. */
  get #roomInUse(): number {
    return Math.max(0, ...this.#active.map((row) => Math.min(roomFor(row), this.#cache.room)));
  }

  /** The waiting rows that fit into the budget together with those in the batch, in order. A row always fits into an empty batch. */
  #chooseEntering(): SampledRow[] {
    const entering: SampledRow[] = [];
    let slots = this.#active.length;
    let room = this.#roomInUse;
    for (const row of this.#waiting) {
      const wider = Math.max(room, roomFor(row));
      if (slots > 0 && !this.#fits(slots + 1, wider)) continue;
      entering.push(row);
      slots++;
      room = wider;
    }
    return entering;
  }

  /** Resizes the cache for rows that enter, if it is too small for them or, with kept caches, over the budget. */
  #makeRoomFor(entering: readonly SampledRow[]): void {
    const slots = this.#active.length + entering.length;
    const room = Math.max(this.#roomInUse, ...entering.map(roomFor));
    const isLargeEnough = slots <= this.#cache.slots && room <= this.#cache.room;
    if (isLargeEnough && this.size <= this.#capacity) return;
    this.#forgetUntilFits(slots, room);
    this.#resize(slots, room);
  }

  /**
   * Adds the row to the batch with keys and values copied from its dialogue's last turn, or from a row with the same prompt.
   * Returns false, and does not add it, if there is nothing to copy.
   */
  #reuseCache(row: SampledRow): boolean {
    const slot = this.#active.length;
    const kept = this.#kept.get(row.dialogue);
    const twin = this.#active.find(({ promptKey }) => promptKey === row.promptKey);
    if (kept) {
      row.cached = commonLength(kept.tokens, row.tokens.slice(0, -1));
      this.#cache.copyFrom(kept.cache, 0, slot, row.cached);
      this.forget(row.dialogue);
    } else if (twin) {
      row.cached = Math.min(row.request.promptIds.length, twin.cached, row.length - 1);
      this.#cache.copyFrom(this.#cache, this.#active.indexOf(twin), slot, row.cached);
    }
    if (row.cached === 0) return false;
    this.#active.push(row);
    return true;
  }

  /** Adds groups of rows with equal tokens: the tokens are read for the first row of each group, and the others copy its slot. */
  async #prefill(groups: readonly (readonly SampledRow[])[]): Promise<void> {
    const first = this.#active.length;
    const tokenLists = groups.map(([row]) => row!.tokens);
    await this.#read(first, tokenLists, groups);
    this.#active.push(...groups.map(([row]) => row!));
    for (const [i, [, ...others]] of groups.entries()) {
      for (const row of others) {
        this.#cache.copyFrom(this.#cache, first + i, this.#active.length, tokenLists[i]!.length);
        this.#active.push(row);
      }
    }
  }

  /**
   * Reads `tokenLists[i]`, the unread tokens of `groups[i]`, into slot `first + i`, then samples the next token of every row.
   * The rows of a group have the same tokens and draw from the same distribution.
   */
  async #read(
    first: number,
    tokenLists: readonly (readonly number[])[],
    groups: readonly (readonly SampledRow[])[],
  ): Promise<void> {
    const width = Math.max(...tokenLists.map(({ length }) => length));
    const step = {
      caches: this.#cache.tensors(first, tokenLists.length),
      rows: tokenLists.length,
      width,
      ids: tokenLists.flatMap((tokens) => Array.from({ length: width }, (_, i) => tokens[i] ?? 0)),
      last: groups.map(([row]) => row!.length - 1),
      twins: twinsOf(groups.map(([row]) => row!)),
      temperature: this.#options.sampling.temperature ?? 1,
    };
    await this.#decoding.run(step, (i, scores) => {
      for (const row of groups[i]!) row.take(scores);
    });
  }

  /** Removes rows that have ended, and keeps the caches of dialogues that may continue. */
  #removeEnded(): SampledRow[] {
    const ended = this.#active.filter(({ hasEnded }) => hasEnded);
    for (const row of ended) {
      if (row.request.mayContinue) this.#keepCache(row);
      this.#freeSlot(row);
    }
    this.#trim();
    return ended;
  }

  /** Gives every row room for its next token. If the budget is too small, kept caches go first, then the longest rows leave and wait. */
  #makeRoom(): void {
    const longest = () => this.#active.reduce((a, b) => (b.length > a.length ? b : a));
    while (longest().length > this.#cache.room) {
      const slots = this.#active.length;
      const room = Math.max(...this.#active.map(roomFor));
      if (this.#forgetUntilFits(slots, room) || slots === 1) this.#resize(slots, room);
      else this.#sendToWait(longest());
    }
    this.#trim();
  }

  #sendToWait(row: SampledRow): void {
    this.#keepCache(row);
    this.#freeSlot(row);
    this.add(row);
  }

  #keepCache(row: SampledRow): void {
    const cache = new KeyValueCache(this.#options.config, 1, row.cached);
    cache.copyFrom(this.#cache, this.#active.indexOf(row), 0, row.cached);
    this.#kept.set(row.dialogue, { tokens: row.tokens.slice(0, row.cached), cache });
  }

  /** Removes a row from the batch and moves the last row to its slot. */
  #freeSlot(row: SampledRow): void {
    const slot = this.#active.indexOf(row);
    const moved = this.#active.pop()!;
    if (moved === row) return;
    this.#active[slot] = moved;
    this.#cache.copyFrom(this.#cache, this.#active.length, slot, moved.cached);
  }

  /** Frees memory until the budget is met: first slots without a row, then kept caches. */
  #trim(): void {
    if (this.size <= this.#capacity) return;
    const room = this.#roomInUse;
    this.#resize(this.#active.length, room);
    this.#forgetUntilFits(this.#active.length, room);
  }

  #fits(slots: number, room: number): boolean {
    return slots * room + this.#keptSize <= this.#capacity;
  }

  /** Frees kept caches, oldest first, until `slots` slots with room for `room` tokens each fit the budget. Returns whether they do. */
  #forgetUntilFits(slots: number, room: number): boolean {
    for (const dialogue of this.#kept.keys()) {
      if (this.#fits(slots, room)) return true;
      this.forget(dialogue);
    }
    return this.#fits(slots, room);
  }

  #resize(slots: number, room: number): void {
    const held = this.#active.map(({ cached }) => cached);
    this.#cache = this.#cache.resized(slots, room, held);
  }
}

/** Finds for each row the first with the same prompt, and how many of its tokens both have in their caches. */
function twinsOf(rows: readonly SampledRow[]): [row: number, count: number][] {
  const firsts = new Map<string, number>();
  return rows.map((row, i) => {
    const first = firsts.get(row.promptKey) ?? i;
    firsts.set(row.promptKey, first);
    return [first, Math.min(row.request.promptIds.length, rows[first]!.cached, row.cached)];
  });
}

/** The number of tokens that a row's slot should have room for; at most the row's maximum length. */
function roomFor(row: SampledRow): number {
  return Math.min(row.length + SPARE_TOKENS, row.maxLength);
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) if (a[i] !== b[i]) return i;
  return end;
}
