// A table of names with one meaning each.

/** Each of `theirs` → `ours`. */
export function aliases(ours: string, ...theirs: readonly string[]): Record<string, string> {
  return Object.fromEntries(theirs.map((name) => [name, ours]));
}
