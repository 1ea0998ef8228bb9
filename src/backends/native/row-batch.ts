// Continuous batching: rows that end leave, waiting rows enter, and a budget bounds the keys and values of all of them.
import type { SamplingOptions } from '../../generation.ts';
import type { ModelConfig } from '../../models/layers.ts';
import type { Decoding, DecodingSession } from './decoding-session.ts';
import { cacheBytesPerToken, KeyValueCache } from './key-value-cache.ts';
import type { SampledRow } from './sampled-row.ts';

/** Tokens that rows get room for beyond those that they have: caches are moved when a row has outgrown them. */
const LOOK_AHEAD = 128;
/** The most tokens, padding included, that prompts are read with in one run. */
const PREFILL_TOKENS = 1024;

/** What was read for a row that is not in the batch, in a cache of one slot. */
interface Kept {
  readonly tokens: readonly number[];
  readonly cache: KeyValueCache;
}

export interface RowBatchOptions {
  readonly session: DecodingSession;
  readonly config: ModelConfig;
  /** The most bytes that keys and values may take; one row alone may take more. */
  readonly cacheBudget: number;
  readonly sampling: SamplingOptions;
}

export class RowBatch implements Disposable {
  readonly #options: RowBatchOptions;
  /** Of the budget, in tokens. */
  readonly #capacity: number;
  /** A row's slot is its index: when a row leaves, the last one takes its place. */
  readonly #active: SampledRow[] = [];
  /** In the order of their dialogues. */
  readonly #waiting: SampledRow[] = [];
  /** By dialogue, the oldest first. */
  readonly #kept = new Map<number, Kept>();
  readonly #decoding: Decoding;
  #cache: KeyValueCache;

  constructor(options: RowBatchOptions) {
    const { config, cacheBudget, session } = options;
    this.#options = options;
    this.#decoding = session.begin();
    this.#capacity = Math.floor(cacheBudget / cacheBytesPerToken(config));
    this.#cache = new KeyValueCache(config, 0, 0, session.device);
  }

  get isEmpty(): boolean {
    return this.#active.length === 0 && this.#waiting.length === 0;
  }

  /** A row that enters as soon as there is room for it; what was kept for its dialogue is not read again. */
  add(row: SampledRow): void {
    const before = this.#waiting.findLastIndex(({ dialogue }) => dialogue < row.dialogue);
    this.#waiting.splice(before + 1, 0, row);
  }

  /** Lets waiting rows enter, and takes one more token for every row. Answers those that ended, by dialogue. */
  async advance(): Promise<SampledRow[]> {
    await this.#admit();
    const ended = this.#leave();
    if (this.#active.length > 0) {
      this.#grow();
      const unread = this.#active.map((row) => row.unread);
      await this.#read(
        0,
        unread,
        this.#active.map((row) => [row]),
      );
      ended.push(...this.#leave());
    }
    return ended.sort((a, b) => a.dialogue - b.dialogue);
  }

  /** Takes out all rows, as far as they are. */
  cancel(): SampledRow[] {
    return [...this.#active.splice(0), ...this.#waiting.splice(0)];
  }

  /** Gives up what was kept for a dialogue. */
  forget(dialogue: number): void {
    this.#kept.get(dialogue)?.cache[Symbol.dispose]();
    this.#kept.delete(dialogue);
  }

  [Symbol.dispose](): void {
    for (const dialogue of [...this.#kept.keys()]) this.forget(dialogue);
    this.#cache[Symbol.dispose]();
    this.#decoding[Symbol.dispose]();
  }

  /** In tokens, of slots and of what is kept. */
  get size(): number {
    return this.#cache.size + this.#keptSize;
  }

  get #keptSize(): number {
    return [...this.#kept.values()].reduce((sum, { cache }) => sum + cache.size, 0);
  }

  async #admit(): Promise<void> {
    const entering = this.#entering();
    if (entering.length === 0) return;
    const unread: SampledRow[] = [];
    for (const row of entering) {
      this.#waiting.splice(this.#waiting.indexOf(row), 1);
      if (!this.#recall(row)) unread.push(row);
      // A single token is read together with those of the others.
      else if (row.length - row.cached > 1) await this.#read(this.#active.length - 1, [row.unread], [[row]]);
    }
    const prompts = Map.groupBy(unread, ({ tokens }) => tokens.join(' '));
    for (const group of prefillBatches([...prompts.values()])) await this.#prefill(group);
  }

  /** Waiting rows that fit, in order, and room for them. The first one always fits where there are no others. */
  #entering(): SampledRow[] {
    const entering: SampledRow[] = [];
    let slots = this.#active.length;
    let room = Math.max(0, ...this.#active.map((row) => Math.min(roomFor(row), this.#cache.room)));
    for (const row of this.#waiting) {
      const wider = Math.max(room, roomFor(row));
      if (slots > 0 && !this.#fits(slots + 1, wider)) continue;
      entering.push(row);
      slots++;
      room = wider;
    }
    if (
      entering.length > 0 &&
      !(slots <= this.#cache.slots && room <= this.#cache.room && this.size <= this.#capacity)
    ) {
      this.#forgetFor(slots, room);
      this.#resize(slots, room);
    }
    return entering;
  }

  /** Gives a row the next slot, with what is known of its tokens: from its dialogue's last turn, or from a row with the same prompt. */
  #recall(row: SampledRow): boolean {
    const slot = this.#active.length;
    const kept = this.#kept.get(row.dialogue);
    const twin = this.#active.find(({ prompt }) => prompt === row.prompt);
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

  /** Reads some texts, each into a slot of its own that all rows with that text copy. */
  async #prefill(groups: readonly (readonly SampledRow[])[]): Promise<void> {
    const first = this.#active.length;
    const texts = groups.map(([row]) => row!.tokens);
    await this.#read(first, texts, groups);
    this.#active.push(...groups.map(([row]) => row!));
    for (const [i, [, ...others]] of groups.entries()) {
      for (const row of others) {
        this.#cache.copyFrom(this.#cache, first + i, this.#active.length, texts[i]!.length);
        this.#active.push(row);
      }
    }
  }

  /** Reads the last tokens of groups of rows into slots from `first` on, and takes the next token of every row. */
  async #read(
    first: number,
    texts: readonly (readonly number[])[],
    groups: readonly (readonly SampledRow[])[],
  ): Promise<void> {
    const width = Math.max(...texts.map(({ length }) => length));
    const step = {
      caches: this.#cache.tensors(first, texts.length),
      rows: texts.length,
      width,
      ids: texts.flatMap((text) => Array.from({ length: width }, (_, i) => text[i] ?? 0)),
      last: groups.map(([row]) => row!.length - 1),
      temperature: this.#options.sampling.temperature ?? 1,
    };
    await this.#decoding.run(step, (i, scores) => {
      for (const row of groups[i]!) row.take(scores);
    });
  }

  /** Takes out the rows that have ended, and keeps what was read for those that go on. */
  #leave(): SampledRow[] {
    const ended = this.#active.filter(({ hasEnded }) => hasEnded);
    for (const row of ended) {
      if (row.request.goesOn) this.#keep(row);
      this.#vacate(row);
    }
    this.#trim();
    return ended;
  }

  /** Gives all rows room for their next token; if need be, others wait: those that are away, then the longest. */
  #grow(): void {
    const longest = () => this.#active.reduce((a, b) => (b.length > a.length ? b : a));
    while (longest().length > this.#cache.room) {
      const slots = this.#active.length;
      const room = Math.max(...this.#active.map(roomFor));
      if (this.#forgetFor(slots, room) || slots === 1) this.#resize(slots, room);
      else this.#setAside(longest());
    }
    this.#trim();
  }

  #setAside(row: SampledRow): void {
    this.#keep(row);
    this.#vacate(row);
    this.add(row);
  }

  #keep(row: SampledRow): void {
    const cache = new KeyValueCache(this.#options.config, 1, row.cached);
    cache.copyFrom(this.#cache, this.#active.indexOf(row), 0, row.cached);
    this.#kept.set(row.dialogue, { tokens: row.tokens.slice(0, row.cached), cache });
  }

  #vacate(row: SampledRow): void {
    const slot = this.#active.indexOf(row);
    const moved = this.#active.pop()!;
    if (moved === row) return;
    this.#active[slot] = moved;
    this.#cache.copyFrom(this.#cache, this.#active.length, slot, moved.cached);
  }

  /** Brings back what is held within the budget: slots without a row go first, then what is kept. */
  #trim(): void {
    if (this.size <= this.#capacity) return;
    const room = Math.max(0, ...this.#active.map((row) => Math.min(roomFor(row), this.#cache.room)));
    this.#resize(this.#active.length, room);
    this.#forgetFor(this.#active.length, room);
  }

  #fits(slots: number, room: number): boolean {
    return slots * room + this.#keptSize <= this.#capacity;
  }

  /** Gives up what is kept, the oldest first, until so many slots fit the budget; whether they do. */
  #forgetFor(slots: number, room: number): boolean {
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

/** Room that a row is given: not for more tokens than it can have. */
function roomFor(row: SampledRow): number {
  return Math.min(row.length + LOOK_AHEAD, row.longest);
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) if (a[i] !== b[i]) return i;
  return end;
}

/** Groups of rows with one text, batched so that a run stays within its tokens. */
function prefillBatches(groups: readonly (readonly SampledRow[])[]): (readonly SampledRow[])[][] {
  const batches: (readonly SampledRow[])[][] = [];
  let width = 0;
  for (const group of groups) {
    const { length } = group[0]!;
    const batch = batches.at(-1);
    if (batch && Math.max(width, length) * (batch.length + 1) <= PREFILL_TOKENS) {
      batch.push(group);
      width = Math.max(width, length);
    } else {
      batches.push([group]);
      width = length;
    }
  }
  return batches;
}
