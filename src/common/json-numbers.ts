// JSON with the numbers of its text, which JavaScript would change: it rounds long ones and writes 1.0 as 1.

/** @param source the digits of a number; `undefined` for other values */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Neither the third argument of the function nor `rawJSON` is in TypeScript's library yet. */
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): object;
};

/** Whether a text may hold numbers that JavaScript would write differently. */
export const mayChangeNumbers = (text: string) => /\d[.eE]|\d{16}|-0/.test(text);

/** Parses JSON and replaces its numbers, if any may change. @param replace gets a number as written in the text */
export function parseWithNumbers(text: string, replace: (source: string, value: number) => unknown): unknown {
  if (!mayChangeNumbers(text)) return JSON.parse(text);
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? replace(source, value) : value,
  );
}

/** Parses JSON to a value that JSON.stringify writes with the numbers of the text, and that nothing else can read. */
export function parseToWrite(text: string): unknown {
  return parseWithNumbers(text, json.rawJSON);
}

/** What JSON.stringify writes as this text of a number. */
export const rawJson = (text: string): object => json.rawJSON(text);
