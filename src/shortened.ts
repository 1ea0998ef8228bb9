// Cuts texts that are quoted in messages.

/** The text, or its first `most` characters and `…` if it is longer. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
