// Tables that map several foreign names to one of ours.
import type { Text } from '../common/words.ts';

/** Each of `theirs` → `ours`. */
export function aliases(ours: Text, ...theirs: readonly string[]): Record<string, Text> {
  return Object.fromEntries(theirs.map((name) => [name, ours]));
}
