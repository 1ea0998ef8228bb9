// A table of names with one meaning each.
import type { Text } from '../common/words.ts';

/** Each of `theirs` → `ours`. */
export function aliases(ours: Text, ...theirs: readonly string[]): Record<string, Text> {
  return Object.fromEntries(theirs.map((name) => [name, ours]));
}
