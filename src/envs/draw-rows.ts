// Rows of a task set whose problems are drawn at random: no repetition while there are others, and a part of them held out for good.
import { GradusError } from '../errors.ts';
import { type RandomStream, randomStream, streamSeed } from '../random.ts';
import type { Example } from '../rl.ts';
import type { Taskset } from './taskset.ts';

export interface RowSource<P> {
  /** The name of the task set, which keys its random streams. */
  readonly name: string;
  draw(random: RandomStream): P;
  /** What a problem asks, in words that are the same wherever its solution is: problems of one identity are on one side of the split. */
  identity(problem: P): string;
  row(problem: P): Example;
}

/** The part of all identities that is held out. */
const heldOutFraction = 0.2;

/** After so many draws in a row without a new problem there are no more. */
const patience = 2000;

/** Throws `CONFIG_INVALID` where a split has no problem at all, because there are so few. */
export function drawnRows<P>({ name, draw, identity, row }: RowSource<P>): Taskset['rows'] {
  // It depends on the problem alone, so that no seed mixes the splits.
  const isHeldOut = (problem: P) => streamSeed(0, name, 'held-out', identity(problem)) < heldOutFraction * 2 ** 32;
  return (split, count, seed) => {
    const random = randomStream(streamSeed(seed, name, split));
    const rows: Example[] = [];
    let seen = new Set<unknown>();
    for (let idle = 0; rows.length < count; ) {
      const problem = draw(random);
      const drawn = isHeldOut(problem) === (split === 'eval') ? row(problem) : undefined;
      if (drawn && !seen.has(drawn.question)) {
        seen.add(drawn.question);
        rows.push(drawn);
        idle = 0;
      } else if (++idle === patience) {
        if (rows.length === 0) throw tooFew(name, split);
        if (split === 'eval') break;
        seen = new Set();
        idle = 0;
      }
    }
    return rows;
  };
}

function tooFew(name: string, split: string): GradusError {
  return new GradusError('CONFIG_INVALID', `${name} has so few different problems that none is left to ${split}`, {
    hint: 'make them longer, or of more numbers or letters',
    path: 'taskset_config',
  });
}
