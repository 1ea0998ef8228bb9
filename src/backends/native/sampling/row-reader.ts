// Runs the model on unread tokens of rows in a batch, which writes their keys and values into slots; then each row samples its next token.
import type { CacheSlots } from './cache-slots.ts';
import type { Decoding } from './decoding-session.ts';
import type { SampledRow } from './sampled-row.ts';

/** Rows with the same tokens, which are read once and draw from the same distribution. */
export type RowGroup = readonly [first: SampledRow, ...others: SampledRow[]];

export interface RowReaderOptions {
  readonly slots: CacheSlots;
  readonly decoding: Decoding;
  readonly temperature: number;
  /** Read one row and one token at a time: ONNX Runtime's products and attention sum in another order where they have more. */
  readonly oneByOne: boolean;
}

export class RowReader {
  readonly #options: RowReaderOptions;

  constructor(options: RowReaderOptions) {
    this.#options = options;
  }

  /** Reads one token of every row in the batch. */
  async readNext(): Promise<void> {
    const { slots } = this.#options;
    await this.#read(
      0,
      slots.rows.map((row) => row.unread),
      slots.rows.map((row): RowGroup => [row]),
      slots.twins(),
    );
  }

  /** Reads the unread tokens of the row in the last slot. */
  async readLast(): Promise<void> {
    const { rows } = this.#options.slots;
    const row = rows.at(-1)!;
    await this.#read(rows.length - 1, [row.unread], [[row]]);
  }

  /** Reads groups from their beginnings, each for its first row, and adds all of their rows to the batch. */
  async readNew(groups: readonly RowGroup[]): Promise<void> {
    const { slots } = this.#options;
    const tokenLists = groups.map(([first]) => first.tokens);
    await this.#read(slots.rows.length, tokenLists, groups);
    for (const [first] of groups) slots.add(first);
    for (const [i, [first, ...others]] of groups.entries())
      for (const row of others) slots.addSharing(row, first, tokenLists[i]!.length, true);
  }

  /** Reads `tokenLists[i]`, the unread tokens of `groups[i]`, into slot `slot + i`, then samples the next token of every row. */
  async #read(
    slot: number,
    tokenLists: readonly (readonly number[])[],
    groups: readonly RowGroup[],
    twins = groups.map((_, i): [number, number] => [i, 0]),
  ): Promise<void> {
    const { slots, decoding, temperature, oneByOne } = this.#options;
    if (oneByOne) return this.#readOneByOne(slot, tokenLists, groups);
    const width = Math.max(...tokenLists.map(({ length }) => length));
    const step = {
      caches: slots.tensors(slot, tokenLists.length),
      rows: tokenLists.length,
      width,
      ids: tokenLists.flatMap((tokens) => Array.from({ length: width }, (_, i) => tokens[i] ?? 0)),
      last: groups.map(([first]) => first.length - 1),
      twins,
      temperature,
    };
    await decoding.run(step, (i, scores) => {
      for (const row of groups[i]!) row.take(scores);
    });
  }

  async #readOneByOne(slot: number, tokenLists: readonly (readonly number[])[], groups: readonly RowGroup[]) {
    const { slots, decoding, temperature } = this.#options;
    for (const [i, tokens] of tokenLists.entries()) {
      const group = groups[i]!;
      const start = group[0].length - tokens.length;
      for (const [j, id] of tokens.entries()) {
        const caches = slots.tensors(slot + i, 1);
        const step = { caches, rows: 1, width: 1, ids: [id], last: [start + j], twins: [[0, 0]] as const, temperature };
        await decoding.run(step, (_, scores) => {
          if (j === tokens.length - 1) for (const row of group) row.take(scores);
        });
      }
    }
  }
}
