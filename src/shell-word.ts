// Words of a command line that is shown to be copied.

/** Quotes a word for the shell if necessary. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
