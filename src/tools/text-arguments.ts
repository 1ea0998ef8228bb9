// Arguments that are written as texts without quotes: the tool's schema says whether `5` is a number or a text.
import { isObject } from '../errors.ts';
import type { ToolSpec } from '../message.ts';
import { type ReadArguments, readArguments } from './call-arguments.ts';
import { pythonValue } from './python-calls.ts';
import { type NamedArguments, spacedJson } from './tool-syntax.ts';

type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** Constants as Python writes them, which templates of Qwen do. */
const pythonConstants: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
]);

/** The text of an argument; some models write whether it is a string. */
export type WrittenArgument = readonly [key: string, text: string, isString?: boolean | undefined];

/**
 * A call of a tool with the texts of its arguments. An argument that neither the schema nor its mark describes is read as JSON if it is valid JSON other than a
 * string; one that cannot be a string may also be written as in Python.
 */
export function callFromTexts(
  name: string,
  entries: readonly WrittenArgument[],
  tools: readonly ToolSpec[],
): NamedArguments {
  const schema = tools.find((tool) => tool.name === name)?.parameters.properties;
  const properties: Readonly<Record<string, unknown>> = isObject(schema) ? schema : {};
  const members = entries.map(([key, text, isString]) => {
    const allowed = Object.hasOwn(properties, key) ? typesOf(properties[key]) : undefined;
    const isText = isString === true && (allowed?.has('string') ?? true);
    return `${JSON.stringify(key)}:${isText ? JSON.stringify(text) : jsonOf(text, allowed)}`;
  });
  return { name, ...(readArguments(`{${members.join(',')}}`) as ReadArguments) };
}

/** The JSON of a value that is written as a text, by its schema, which may be unknown. */
export function jsonOfText(text: string, schema: unknown): string {
  return jsonOf(text, typesOf(schema));
}

/** A value as such syntaxes write it: strings as they are, everything else as JSON. */
export function textOrJson(value: unknown): string {
  return typeof value === 'string' ? value : spacedJson(value);
}

/** The JSON of an argument: itself, or a string of it. */
function jsonOf(text: string, allowed: ReadonlySet<JsonType> | undefined): string {
  const given = pythonConstants.get(text.trim()) ?? text.trim();
  const isJson = typeOfJson(given) !== undefined;
  const json = isJson || allowed === undefined || allowed.has('string') ? given : (pythonValue(given) ?? given);
  const type = typeOfJson(json);
  const isValue = type !== undefined && type !== 'string' && (allowed === undefined || allowed.has(type));
  return isValue ? json : JSON.stringify(text);
}

/** `undefined` if it is not valid JSON. */
function typeOfJson(json: string): JsonType | undefined {
  try {
    return typeOfValue(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function typeOfValue(value: unknown): JsonType {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : (typeof value as JsonType);
}

/** The types that a schema allows; `undefined` if it does not say. */
export function typesOf(schema: unknown): ReadonlySet<JsonType> | undefined {
  if (!isObject(schema)) return undefined;
  const { type, anyOf, oneOf, enum: values } = schema;
  if (type !== undefined) {
    const names = [type].flat().map((name) => (name === 'integer' ? 'number' : name));
    return new Set(names as JsonType[]);
  }
  if (Array.isArray(values)) return new Set(values.map(typeOfValue));
  const choices = anyOf ?? oneOf;
  if (!Array.isArray(choices)) return undefined;
  const types = choices.map(typesOf);
  return types.includes(undefined) ? undefined : new Set(types.flatMap((each) => [...each!]));
}
