// Examples in an order that depends on the seed alone.
import type { Metrics } from './logging.ts';
import { shuffled, streamSeed } from './random.ts';
import type { Example, Group } from './rl.ts';

/** Hands out examples without end. */
export interface DataLoader<E extends Example = Example> {
  next(count: number): readonly E[];
  /** Told how the examples of a step turned out, where that decides what comes next; answers metrics of the step. */
  observe?(groups: readonly Group<E>[]): Metrics;
  /** Where it is, as JSON. A loader of the same examples that is given it goes on from there. */
  state: unknown;
}

export interface ShuffledExamplesOptions {
  /** @default 0 */
  readonly seed?: number;
}

/** Epoch after epoch, each in a fresh random order, so that every row is seen equally often. */
export function shuffledExamples<E extends Example>(
  rows: readonly E[],
  { seed = 0 }: ShuffledExamplesOptions = {},
): DataLoader<E> {
  let epoch = -1;
  let order: readonly E[] = [];
  return sequentialExamples((position) => {
    const of = Math.floor(position / rows.length);
    if (of !== epoch) {
      epoch = of;
      order = shuffled(rows, streamSeed(seed, 'epoch', epoch));
    }
    return order[position % rows.length]!;
  });
}

/** One after the other, `at` telling which comes where. The state is the position of the next. */
export function sequentialExamples<E extends Example>(at: (position: number) => E): DataLoader<E> {
  let position = 0;
  return {
    next: (count) => Array.from({ length: count }, () => at(position++)),
    get state() {
      return { position };
    },
    set state(state: unknown) {
      ({ position } = state as { position: number });
    },
  };
}
