// Methods of Python's texts, for chat templates: the library lacks them, or does not look at their arguments.

type StringMethod = (text: string, ...given: readonly unknown[]) => unknown;
type Characters = string | null;

export const stringMethods: ReadonlyMap<string, StringMethod> = new Map<string, StringMethod>([
  ['strip', (text, characters) => strip(text, characters as Characters)],
  ['lstrip', (text, characters) => stripStart(text, characters as Characters)],
  ['rstrip', (text, characters) => stripEnd(text, characters as Characters)],
  ['capitalize', (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()],
  ['removeprefix', (text, prefix) => (text.startsWith(String(prefix)) ? text.slice(String(prefix).length) : text)],
  ['removesuffix', (text, suffix) => (text.endsWith(String(suffix)) ? text.slice(0, -String(suffix).length) : text)],
  ['splitlines', (text) => text.replace(/\r?\n$|\r$/, '').split(/\r\n|\n|\r/)],
  ['rsplit', (text, separator, most) => splitFromEnd(text, String(separator), Number(most ?? -1))],
  ['partition', (text, separator) => partedAt(text.indexOf(String(separator)), text, String(separator))],
  ['find', (text, part) => placeOf(text, text.indexOf(String(part)))],
  ['rfind', (text, part) => placeOf(text, text.lastIndexOf(String(part)))],
  ['count', (text, part) => text.split(String(part)).length - 1],
  ['join', (text, parts) => (parts as readonly string[]).join(text)],
]);

/** Takes characters away from both ends. @param characters null or absent for white space */
export function strip(text: string, characters?: Characters): string {
  return stripStart(stripEnd(text, characters), characters);
}

function stripStart(text: string, characters?: Characters): string {
  const isTaken = takes(characters);
  const all = Array.from(text);
  const kept = all.findIndex((character) => !isTaken(character));
  return kept < 0 ? '' : all.slice(kept).join('');
}

function stripEnd(text: string, characters?: Characters): string {
  const isTaken = takes(characters);
  const all = Array.from(text);
  return all.slice(0, all.findLastIndex((character) => !isTaken(character)) + 1).join('');
}

/** White space is Python's: with the separators U+001C to U+001F and U+0085, without U+FEFF. */
function takes(characters: Characters | undefined): (character: string) => boolean {
  if (characters == null)
    return (character) => /\p{White_Space}/u.test(character) || (character >= '\x1c' && character <= '\x1f');
  const taken = new Set(characters);
  return (character) => taken.has(character);
}

function splitFromEnd(text: string, separator: string, most: number): string[] {
  const parts = text.split(separator);
  if (most < 0 || parts.length <= most + 1) return parts;
  return [parts.slice(0, parts.length - most).join(separator), ...parts.slice(parts.length - most)];
}

function partedAt(place: number, text: string, separator: string): string[] {
  return place < 0 ? [text, '', ''] : [text.slice(0, place), separator, text.slice(place + separator.length)];
}

/** Python counts characters, JavaScript halves of some. */
function placeOf(text: string, index: number): number {
  return index < 0 ? -1 : Array.from(text.slice(0, index)).length;
}
