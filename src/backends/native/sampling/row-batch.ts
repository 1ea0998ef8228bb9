// Continuous batching: finished rows leave the batch and waiting rows take their place, within a memory budget for keys and values.
import { commonLength } from '../../../common/common-length.ts';
import { cacheBytesPerToken, type ModelConfig, stateBytesPerRow } from '../../../models/model-config.ts';
import type { SamplingOptions } from '../../../policy.ts';
import { CacheSlots } from './cache-slots.ts';
import type { Decoding, DecodingSession } from './decoding-session.ts';
import { HeldCaches, usableLength } from './held-caches.ts';
import { KeyValueCache } from './key-value-cache.ts';
import { prefillBatches } from './prefill-batches.ts';
import type { SampledRow } from './sampled-row.ts';

/** The fewest tokens that a row takes from any other. */
const LEAST_SHARED = 32;

/** Each slot has room for this many tokens more than its row holds, so that the caches are not reallocated for every token. */
const SPARE_TOKENS = 128;

export interface RowBatchOptions {
  readonly session: DecodingSession;
  readonly config: ModelConfig;
  /** The most bytes that keys, values and states may take. A row that is alone in the batch may exceed it. */
  readonly cacheBudget: number;
  readonly sampling: SamplingOptions;
}

export class RowBatch implements Disposable {
  readonly #options: RowBatchOptions;
  /** The budget in tokens. */
  readonly #capacity: number;
  /** How many tokens take as much memory as the states of a row. */
  readonly #stateTokens: number;
  /** The rows in the batch, with their keys and values. */
  readonly #slots: CacheSlots;
  /** Rows that wait to enter, ordered by dialogue. */
  readonly #waiting: SampledRow[] = [];
  /** The caches of rows that are not in the batch. */
  readonly #held: HeldCaches;
  readonly #decoding: Decoding;

  constructor(options: RowBatchOptions) {
    const { config, cacheBudget, session } = options;
    this.#options = options;
    this.#decoding = session.begin();
    const { device, readsTwins, cacheType: type } = session;
    const bytesPerToken = cacheBytesPerToken(config, type);
    this.#capacity = Math.floor(cacheBudget / bytesPerToken);
    this.#stateTokens = stateBytesPerRow(config) / bytesPerToken;
    this.#held = new HeldCaches(this.#stateTokens);
    const place = { device, type, onRelease: () => this.#decoding.releaseCaches() };
    // A row that is read alone needs all of its tokens.
    this.#slots = new CacheSlots(new KeyValueCache(config, 0, 0, place), readsTwins && !this.#readsOneByOne);
  }

  /** Whether rows may use the caches of all other rows, since that changes no number. */
  get #sharesCaches(): boolean {
    return this.#options.sampling.batchInvariant ?? false;
  }

  /** Whether rows are read one by one, and token by token. */
  get #readsOneByOne(): boolean {
    return this.#sharesCaches && !this.#options.session.isBatchInvariant;
  }

  get #active(): readonly SampledRow[] {
    return this.#slots.rows;
  }

  get isEmpty(): boolean {
    return this.#active.length === 0 && this.#waiting.length === 0;
  }

  /** Queues a row, which enters the batch as soon as it fits. Tokens that are in a held cache are not read again. */
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
      const groups = this.#active.map((row) => [row]);
      await this.#read(0, unread, groups, this.#slots.twins());
      ended.push(...this.#removeEnded());
    }
    return ended.sort((a, b) => a.dialogue - b.dialogue);
  }

  /** Removes all rows and returns them, with what they have sampled so far. */
  cancel(): SampledRow[] {
    return [...this.#slots.removeAll(), ...this.#waiting.splice(0)];
  }

  /** A dialogue has ended, so its cache is of no use to other rows unless they share caches. */
  forget(dialogue: number): void {
    if (!this.#sharesCaches) this.#held.forget(dialogue);
  }

  [Symbol.dispose](): void {
    this.#held.dispose();
    this.#slots.dispose();
    this.#decoding.dispose();
  }

  /** The number of tokens that slots and held caches have memory for; a state counts as the number of tokens that take the same memory. */
  get size(): number {
    return this.#slots.size + this.#slots.count * this.#stateTokens + this.#held.size;
  }

  /** Whether layers have states: these depend on all tokens that a row has read, and do not exist for fewer of them. */
  get #hasStates(): boolean {
    return this.#stateTokens > 0;
  }

  async #admit(): Promise<void> {
    const { entering, lent } = this.#chooseEntering();
    if (entering.length === 0) return;
    this.#makeRoomFor(entering, lent);
    /** Rows that are read from their beginnings, by their tokens. */
    const unread = new Map<string, SampledRow[]>();
    for (const row of entering) {
      this.#waiting.splice(this.#waiting.indexOf(row), 1);
      // What is about to be read is read first if this row can use it.
      if (this.#sharesCaches && this.#help(unread.values(), row)) await this.#readAll(unread);
      if (!(this.#sharesCaches ? this.#fork(row) : this.#reuseCache(row))) {
        const text = row.tokens.join(' ');
        const group = unread.get(text) ?? [];
        group.push(row);
        unread.set(text, group);
      }
      // A single unread token is left for the decoding step, which reads one token of every row.
      else if (row.length - row.cached > 1) await this.#read(this.#active.length - 1, [row.unread], [[row]]);
    }
    await this.#readAll(unread);
  }

  /** Reads groups of rows with equal tokens, adds them to the batch, and takes them from the given ones. */
  async #readAll(groups: Map<string, SampledRow[]>): Promise<void> {
    for (const group of prefillBatches([...groups.values()])) await this.#prefill(group);
    groups.clear();
  }

  /** The room that slots must have for the rows in the batch, which is at most what they have. */
  get #roomInUse(): number {
    return Math.max(0, ...this.#active.map((row) => Math.min(roomFor(row), this.#slots.room)));
  }

  /**
   * The waiting rows that fit into the budget together with those in the batch, in order, and the tokens that all these rows will have on loan. A row always
   * fits into an empty batch.
   */
  #chooseEntering(): { readonly entering: SampledRow[]; readonly lent: number } {
    const entering: SampledRow[] = [];
    let slots = this.#active.length;
    let room = this.#roomInUse;
    let lent = this.#slots.lent;
    // Rows with one of these prompts borrow most of it, unless they have tokens of their own already.
    const prompts = new Set(this.#hasStates ? [] : this.#active.map(({ promptKey }) => promptKey));
    for (const row of this.#waiting) {
      const wider = Math.max(room, roomFor(row));
      const isNew = row.length === row.request.promptIds.length && !this.#held.has(row.dialogue);
      const shared = this.#slots.lends && isNew && prompts.has(row.promptKey) ? row.length - 1 : 0;
      if (slots > 0 && !this.#fits(slots + 1, wider, lent + shared)) continue;
      entering.push(row);
      if (isNew) prompts.add(row.promptKey);
      slots++;
      room = wider;
      lent += shared;
    }
    return { entering, lent };
  }

  /** Resizes the cache for rows that enter, if it is too small for them or, with held caches, over the budget. */
  #makeRoomFor(entering: readonly SampledRow[], lent: number): void {
    const slots = this.#active.length + entering.length;
    const room = Math.max(this.#roomInUse, ...entering.map(roomFor));
    const isLargeEnough = slots <= this.#slots.count && room <= this.#slots.room;
    if (isLargeEnough && this.size <= this.#capacity) return;
    this.#forgetUntilFits(slots, room, lent);
    this.#slots.resize(slots, room);
  }

  /**
   * Adds the row to the batch with keys and values from its dialogue's last turn, or of a row with the same prompt.
   * Returns false, and does not add it, if there are none.
   */
  #reuseCache(row: SampledRow): boolean {
    const held = this.#held.ofDialogue(row.dialogue, row.tokens.slice(0, -1));
    const twin = this.#hasStates ? undefined : this.#active.find(({ promptKey }) => promptKey === row.promptKey);
    if (held) row.cached = held.count;
    else if (twin) row.cached = Math.min(row.request.promptIds.length, twin.cached, row.length - 1);
    if (held && row.cached > 0) this.#slots.addCopied(row, held.cache, row.cached);
    else if (twin && row.cached > 0) this.#slots.addSharing(row, twin, row.cached, row.length - row.cached === 1);
    this.#held.forget(row.dialogue);
    return row.cached > 0;
  }

  /** Whether one of some groups, once read, has a beginning that a row outside the group can use. */
  #help(groups: Iterable<readonly SampledRow[]>, row: SampledRow): boolean {
    const tokens = row.tokens.slice(0, -1);
    for (const [other] of groups) {
      if (other!.promptKey === row.promptKey) continue;
      if (usableLength(other!.tokens, tokens, this.#hasStates) >= this.#leastShared) return true;
    }
    return false;
  }

  /** The fewest tokens worth copying: fewer are read again together with those of other rows. */
  get #leastShared(): number {
    return this.#readsOneByOne ? 1 : LEAST_SHARED;
  }

  /**
   * Adds the row to the batch with as many keys and values of any other row as it can use. Returns false, and does not add it, if these are too few.
   */
  #fork(row: SampledRow): boolean {
    const tokens = row.tokens.slice(0, -1);
    const held = this.#held.longest(tokens);
    let count = 0;
    let twin: SampledRow | undefined;
    for (const other of this.#active) {
      if (count === tokens.length) break;
      const common = usableLength(other.tokens.slice(0, other.cached), tokens, this.#hasStates);
      if (common > count) [count, twin] = [common, other];
    }
    row.cached = Math.max(count, held?.count ?? 0);
    if (row.cached < Math.min(this.#leastShared, Math.max(1, tokens.length))) {
      row.cached = 0;
      return false;
    }
    if (held && held.count > count) this.#slots.addCopied(row, held.cache, held.count);
    else this.#slots.addSharing(row, twin!, count, twin!.promptKey === row.promptKey && row.length - count === 1);
    return true;
  }

  /** Adds groups of rows with equal tokens, which are read for the first row of each group. */
  async #prefill(groups: readonly (readonly SampledRow[])[]): Promise<void> {
    const first = this.#active.length;
    const tokenLists = groups.map(([row]) => row!.tokens);
    await this.#read(first, tokenLists, groups);
    for (const [row] of groups) this.#slots.add(row!);
    for (const [i, [reader, ...others]] of groups.entries())
      for (const row of others) this.#slots.addSharing(row, reader!, tokenLists[i]!.length, true);
  }

  /**
   * Reads `tokenLists[i]`, the unread tokens of `groups[i]`, into slot `first + i`, then samples the next token of every row.
   * The rows of a group have the same tokens and draw from the same distribution.
   */
  async #read(
    first: number,
    tokenLists: readonly (readonly number[])[],
    groups: readonly (readonly SampledRow[])[],
    twins = groups.map((_, i): [number, number] => [i, 0]),
  ): Promise<void> {
    if (this.#readsOneByOne) return this.#readOneByOne(first, tokenLists, groups);
    const width = Math.max(...tokenLists.map(({ length }) => length));
    const step = {
      caches: this.#slots.tensors(first, tokenLists.length),
      rows: tokenLists.length,
      width,
      ids: tokenLists.flatMap((tokens) => Array.from({ length: width }, (_, i) => tokens[i] ?? 0)),
      last: groups.map(([row]) => row!.length - 1),
      twins,
      temperature: this.#options.sampling.temperature ?? 1,
    };
    await this.#decoding.run(step, (i, scores) => {
      for (const row of groups[i]!) row.take(scores);
    });
  }

  /** The same for one row and one token at a time: ONNX Runtime's products and attention sum in another order where they have more. */
  async #readOneByOne(
    first: number,
    tokenLists: readonly (readonly number[])[],
    groups: readonly (readonly SampledRow[])[],
  ) {
    const { temperature = 1 } = this.#options.sampling;
    for (const [i, tokens] of tokenLists.entries()) {
      const rows = groups[i]!;
      const start = rows[0]!.length - tokens.length;
      for (const [j, id] of tokens.entries()) {
        const caches = this.#slots.tensors(first + i, 1);
        const step = { caches, rows: 1, width: 1, ids: [id], last: [start + j], twins: [[0, 0]] as const, temperature };
        await this.#decoding.run(step, (_, scores) => {
          if (j === tokens.length - 1) for (const row of rows) row.take(scores);
        });
      }
    }
  }

  /** Removes rows that have ended, and holds the caches of those that may be continued. */
  #removeEnded(): SampledRow[] {
    const ended = this.#active.filter(({ hasEnded }) => hasEnded);
    for (const row of ended) {
      if (row.request.mayContinue) this.#holdCache(row);
      else if (this.#holdsAlone(row)) this.#holdCache(row, row.request.promptIds.length);
      this.#slots.remove(row);
    }
    this.#trim();
    return ended;
  }

  /** Gives every row room for its next token. If the budget is too small, held caches go first, then the longest rows leave and wait. */
  #makeRoom(): void {
    const longest = () => this.#active.reduce((a, b) => (b.length > a.length ? b : a));
    while (longest().length > this.#slots.room) {
      const slots = this.#active.length;
      const room = Math.max(...this.#active.map(roomFor));
      if (this.#forgetUntilFits(slots, room) || slots === 1) this.#slots.resize(slots, room);
      else this.#sendToWait(longest());
    }
    this.#trim();
  }

  #sendToWait(row: SampledRow): void {
    this.#holdCache(row);
    this.#slots.remove(row);
    this.add(row);
  }

  /** Whether no other row and no held cache has half of a row's prompt, which later rows may begin with. */
  #holdsAlone(row: SampledRow): boolean {
    const { promptIds } = row.request;
    const half = promptIds.length / 2;
    if (!this.#sharesCaches || this.#hasStates || half < this.#leastShared || row.cached < promptIds.length)
      return false;
    const isElsewhere = this.#active.some((other) => other !== row && commonLength(other.tokens, promptIds) >= half);
    return !isElsewhere && (this.#held.longest(promptIds)?.count ?? 0) < half;
  }

  #holdCache(row: SampledRow, count = row.cached): void {
    const { config, session } = this.#options;
    const tokens = row.tokens.slice(0, count);
    if (this.#sharesCaches) this.#held.freeBeginningsOf(tokens);
    const cache = new KeyValueCache(config, 1, count, { type: session.cacheType });
    this.#slots.copyTo(cache, row, count);
    this.#held.add({ dialogue: row.dialogue, tokens, cache });
  }

  /** Frees memory until the budget is met: first slots without a row, then held caches. */
  #trim(): void {
    if (this.size <= this.#capacity) return;
    const room = this.#roomInUse;
    this.#slots.resize(this.#active.length, room);
    this.#forgetUntilFits(this.#active.length, room);
  }

  /** Whether slots with this much room, less the tokens that rows have on loan, fit the budget. */
  #fits(slots: number, room: number, lent = this.#slots.lent): boolean {
    return slots * (room + this.#stateTokens) - lent + this.#held.size <= this.#capacity;
  }

  /** Frees held caches, oldest first, until slots fit the budget. Returns whether they do. */
  #forgetUntilFits(slots: number, room: number, lent?: number): boolean {
    while (!this.#fits(slots, room, lent)) if (!this.#held.freeOldest()) return false;
    return true;
  }
}

/** The number of tokens that a row's slot should have room for; at most the row's maximum length. */
function roomFor(row: SampledRow): number {
  return Math.min(row.length + SPARE_TOKENS, row.maxLength);
}
