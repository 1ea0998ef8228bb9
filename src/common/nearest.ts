// Looks up names that users write, and suggests the name that they probably meant.

/**
 * The candidate with the fewest edits from `name`, ignoring case; `undefined` if it has more than `mostEdits`.
 * @param mostEdits default: a third of the letters
 */
export function nearest(
  name: string,
  candidates: Iterable<string>,
  mostEdits = Math.max(1, Math.floor(name.length / 3)),
): string | undefined {
  let best: string | undefined;
  let fewest = mostEdits + 1;
  for (const candidate of candidates) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

/** The number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (Damerau 1964, each place edited once). */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(substituted, row[j]! + 1, next[j - 1]! + 1, swapped));
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}

/** One line about the names that exist, for a hint: `there is: a, b; did you mean "b"?` */
export function existingNames(name: string, candidates: readonly string[]): string {
  const meant = nearest(name, candidates);
  return `there is: ${candidates.join(', ')}${meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`}`;
}

/** The entry of a table by name; `undefined` for `constructor` and other names that every object inherits. */
export function named<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
