// The arguments of tool calls as JSON, in which JavaScript would change numbers: it rounds long ones and writes 1.0 as 1.
import { isObject } from './errors.ts';
import type { ToolCall } from './message.ts';

export type ReadArguments = Pick<ToolCall, 'arguments' | 'argumentsText'>;

/** @param source the digits of a number; `undefined` for other values */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Neither the third argument of the function nor `rawJSON` is in TypeScript's library yet. */
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): object;
};

const mayChange = /\d[.eE]|\d{16}|-0/;

/** Parses JSON and replaces its numbers. @param replace is given a number as the text has it */
export function parseWithNumbers(text: string, replace: (source: string, value: number) => unknown): unknown {
  if (!mayChange.test(text)) return JSON.parse(text);
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? replace(source, value) : value,
  );
}

/**
 * The arguments that a text in JSON consists of; `undefined` if they are no object. Throws as JSON.parse does.
 * @param key where they are in the object that the text describes; by default they are the whole
 */
export function readArguments(text: string, key?: string): ReadArguments | undefined {
  const part = (whole: unknown) => (key === undefined || !isObject(whole) ? whole : whole[key]);
  const given = part(
    // As in data: a whole number that a double would round becomes a text of its digits.
    parseWithNumbers(text, (source, value) =>
      /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? source : value,
    ),
  );
  if (!isObject(given)) return undefined;
  if (!mayChange.test(text)) return { arguments: given };
  const argumentsText = JSON.stringify(part(parseWithNumbers(text, json.rawJSON)));
  return argumentsText === JSON.stringify(given) ? { arguments: given } : { arguments: given, argumentsText };
}

/** The arguments as JSON, with the numbers that the model wrote. */
export function argumentsJson({ arguments: given, argumentsText }: ReadArguments): string {
  return argumentsText ?? JSON.stringify(given);
}

/** The arguments as a value that JSON.stringify writes with the numbers that the model wrote. */
export function writableArguments({ arguments: given, argumentsText }: ReadArguments): unknown {
  return argumentsText === undefined ? given : parseWithNumbers(argumentsText, json.rawJSON);
}
