// Quotes words of command lines that users are meant to copy.

/** Quotes a word for the shell if necessary. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
