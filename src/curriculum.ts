// Examples that a policy solves about as often as is wanted, by what has been measured of them: groups that are neither all good nor all bad.
import type { DataLoader } from './data.ts';
import { randomStream, streamSeed } from './random.ts';
import type { Example, Group } from './rl.ts';

export interface CurriculumOptions<E extends Example = Example> {
  /** How often a group's trajectories solved its example, from 0 to 1; `null` where that cannot be told. */
  readonly success: (group: Group<E>) => number | null;
  /** How often it should be. @default 0.5 */
  readonly target?: number;
  /** Examples drawn for each one that is handed out, the nearest to the target: the more, the stricter. @default 4 */
  readonly candidates?: number;
  /** @default 0 */
  readonly seed?: number;
}

/** How much the latest measurement counts: policies change. */
const LATEST = 0.5;

interface CurriculumState {
  readonly position: number;
  readonly success: readonly (readonly [row: number, estimate: number])[];
}

/**
 * Draws some rows for each place and hands out the one whose estimated success is nearest to the target; rows that were never measured
 * come first. None comes twice in a step. `observe` answers `curriculum/success`, the mean of what it was shown, and
 * `curriculum/measured`, the fraction of rows that have an estimate.
 */
export function curriculum<E extends Example>(rows: readonly E[], options: CurriculumOptions<E>): DataLoader<E> {
  const { success, target = 0.5, candidates = 4, seed = 0 } = options;
  const rowOf = new Map(rows.map((example, row) => [example, row]));
  const estimates = new Map<number, number>();
  const taken = new Set<number>();
  let position = 0;

  const distance = (row: number) => Math.abs((estimates.get(row) ?? target) - target);
  const draw = () => {
    if (taken.size === rows.length) taken.clear();
    const random = randomStream(streamSeed(seed, 'curriculum', position++));
    const drawn: number[] = [];
    while (drawn.length < candidates) {
      const row = random.integer(rows.length);
      if (!taken.has(row)) drawn.push(row);
    }
    const chosen = drawn.reduce((best, row) => (distance(row) < distance(best) ? row : best));
    taken.add(chosen);
    return rows[chosen]!;
  };

  return {
    next: (count) => Array.from({ length: count }, draw),
    observe(groups) {
      taken.clear();
      const measured: number[] = [];
      for (const group of groups) {
        const [row, value] = [rowOf.get(group.example)!, success(group)];
        if (value === null) continue;
        measured.push(value);
        const before = estimates.get(row) ?? value;
        estimates.set(row, before + LATEST * (value - before));
      }
      return {
        ...(measured.length > 0 && { 'curriculum/success': measured.reduce((a, b) => a + b) / measured.length }),
        'curriculum/measured': estimates.size / rows.length,
      };
    },
    get state(): CurriculumState {
      return { position, success: [...estimates] };
    },
    set state(state: unknown) {
      const { position: next, success: known } = state as CurriculumState;
      position = next;
      taken.clear();
      estimates.clear();
      for (const [row, estimate] of known) estimates.set(row, estimate);
    },
  };
}
