// Batches of examples in an order that depends on the seed alone.
import { shuffled, streamSeed } from './random.ts';
import type { Example } from './rl.ts';

export interface DataLoader<E extends Example = Example> {
  /** Endless: epoch after epoch, each in its own order. Starting at a step gives what a run that came there would get next. */
  batches(fromStep?: number): Iterable<readonly E[]>;
}

export interface ShuffledBatchesOptions {
  readonly batchSize: number;
  /** @default 0 */
  readonly seed?: number;
}

/** Loads rows in a fresh random order each epoch. A batch may span two epochs, so that every row is seen equally often. */
export function shuffledBatches<E extends Example>(rows: readonly E[], options: ShuffledBatchesOptions): DataLoader<E> {
  const { batchSize, seed = 0 } = options;
  return {
    *batches(fromStep = 0) {
      let epoch = -1;
      let order: E[] = [];
      for (let next = fromStep * batchSize; ; next += batchSize) {
        const batch: E[] = [];
        for (let i = next; i < next + batchSize; i++) {
          const of = Math.floor(i / rows.length);
          if (of !== epoch) {
            epoch = of;
            order = shuffled(rows, streamSeed(seed, 'epoch', epoch));
          }
          batch.push(order[i % rows.length]!);
        }
        yield batch;
      }
    },
  };
}
