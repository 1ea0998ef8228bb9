// The grammar of JSON, and of JSON that conforms to a schema: objects have the properties of the schema in its order, and no others.
import { isObject } from '../../errors.ts';
import { characterOf, type GrammarPart, type GrammarRule, literal, oneOf, repeated } from './grammar.ts';

type Schema = Readonly<Record<string, unknown>>;

// As much white space as writers put between values: without a limit a model might write nothing else.
const space = oneOf([], [literal(' ')], [literal('\n'), repeated(characterOf(/[ \t]/), 0, 20)]);
const digit = characterOf(/[0-9]/);
const hex = characterOf(/[0-9a-fA-F]/);
// Without halves of characters, which would be none if the other did not follow.
const unit = oneOf([characterOf(/[0-9a-ce-fA-CE-F]/), hex], [characterOf(/[dD]/), characterOf(/[0-7]/)]);
const escaped = oneOf([characterOf(/["\\/bfnrt]/)], [literal('u'), unit, hex, hex]);
// Not \p{Cc}: JSON allows U+007F to U+009F.
const letter = oneOf(
  [(character) => character >= ' ' && character !== '"' && character !== '\\'],
  [literal('\\'), escaped],
);
const text = textOf(0);
const integer = oneOf([
  oneOf([], [literal('-')]),
  oneOf([literal('0')], [characterOf(/[1-9]/), repeated(digit, 0, 15)]),
]);
const fraction = oneOf([], [literal('.'), repeated(digit, 1, 16)]);
const exponent = oneOf([], [characterOf(/[eE]/), oneOf([], [characterOf(/[+-]/)]), repeated(digit, 1, 2)]);
const number = oneOf([integer, fraction, exponent]);
const boolean = oneOf([literal('true')], [literal('false')]);
const nothing = literal('null');

const anyValue: GrammarRule = oneOf([text], [number], [boolean], [nothing]);
const anyList = listOf(anyValue, 0);
/** Any object. */
export const anyObject = mapOf(anyValue);
anyValue.alternatives.push([anyObject], [anyList]);

const scalars: Readonly<Record<string, GrammarRule>> = { boolean, null: nothing };

/** A part of a schema that a grammar here cannot have. */
export class SchemaUnsupported extends Error {}

/** What tells readers about a value, and nothing about which values there may be. */
const annotations = ['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', '$comment'];
const names = ['$schema', '$id', '$defs', 'definitions', '$ref', 'type', 'enum', 'const', 'anyOf', 'allOf'];
const ofObjects = ['properties', 'required', 'additionalProperties'];
const ofLists = ['items', 'minItems', 'maxItems'];
const ofScalars = ['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const known: ReadonlySet<string> = new Set([...annotations, ...names, ...ofObjects, ...ofLists, ...ofScalars]);

/** The largest bound of a list and of a text, and the most values of one `enum`. */
const MOST_ITEMS = 256;
const MOST_CHARACTERS = 4096;
const MOST_VALUES = 1000;

/** The grammar of the values that a schema allows. Throws `SchemaUnsupported` for keywords that it cannot hold a text to. */
export function schemaGrammar(schema: Schema): GrammarRule {
  /** Rules of schemas that others refer to, by their references: a schema may contain itself. */
  const referred = new Map<string, GrammarRule>();

  /** @param open the references that lead here without a character between, which must not lead back to themselves */
  const ruleOf = (given: unknown, path: string, open: readonly string[] = []): GrammarRule => {
    if (given === true) return anyValue;
    if (!isObject(given)) throw new SchemaUnsupported(`${path} is no schema`);
    const unknown = Object.keys(given).find((key) => !known.has(key));
    if (unknown !== undefined) throw new SchemaUnsupported(`${path}: this server cannot hold a text to ${unknown}`);
    const { $ref, enum: values, anyOf, allOf } = given;
    if ($ref !== undefined) return referenceOf(String($ref), path, open);
    if ('const' in given) return written(given.const);
    if (Array.isArray(values)) {
      if (values.length > MOST_VALUES) throw new SchemaUnsupported(`${path}.enum has more than ${MOST_VALUES} values`);
      return oneOf(...values.map((value) => [written(value)]));
    }
    if (Array.isArray(anyOf)) return oneOf(...anyOf.map((each, i) => [ruleOf(each, `${path}.anyOf.${i}`, open)]));
    if (Array.isArray(allOf)) {
      if (allOf.length === 1) return ruleOf(allOf[0], `${path}.allOf.0`, open);
      throw new SchemaUnsupported(`${path}: this server cannot hold a text to several schemas of allOf`);
    }
    const { type = 'properties' in given ? 'object' : undefined } = given;
    if (type === undefined) return anyValue;
    return oneOf(...[type].flat().map((each) => [typeOf(String(each), given, path)]));
  };

  const referenceOf = (reference: string, path: string, open: readonly string[]): GrammarRule => {
    if (open.includes(reference)) throw new SchemaUnsupported(`${path}: ${reference} refers to itself`);
    const before = referred.get(reference);
    if (before) return before;
    const found = reference
      .split('/')
      .slice(1)
      .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((within, part) => (isObject(within) ? within[part] : undefined), schema);
    if (!reference.startsWith('#') || found === undefined)
      throw new SchemaUnsupported(`${path}: there is no ${reference}`);
    const rule = oneOf();
    referred.set(reference, rule);
    rule.alternatives.push([ruleOf(found, reference, [...open, reference])]);
    return rule;
  };

  const typeOf = (type: string, given: Schema, path: string): GrammarRule => {
    if (type === 'object') return objectOf(given, path);
    if (type === 'integer' || type === 'number') return numberOf(type, given, path);
    if (type === 'string') {
      const { minLength = 0, maxLength } = given as { minLength?: number; maxLength?: number };
      if (minLength <= MOST_CHARACTERS && (maxLength ?? 0) <= MOST_CHARACTERS) return textOf(minLength, maxLength);
      throw new SchemaUnsupported(`${path}: this server holds texts to ${MOST_CHARACTERS} characters at most`);
    }
    if (type !== 'array') {
      const scalar = Object.hasOwn(scalars, type) ? scalars[type] : undefined;
      if (scalar) return scalar;
      throw new SchemaUnsupported(`${path}: there is no type ${type}`);
    }
    const { items = true, minItems = 0, maxItems } = given as { items?: unknown; minItems?: number; maxItems?: number };
    if (minItems > MOST_ITEMS || (maxItems ?? 0) > MOST_ITEMS)
      throw new SchemaUnsupported(`${path}: this server holds lists to ${MOST_ITEMS} items at most`);
    return listOf(ruleOf(items, `${path}.items`), minItems, maxItems);
  };

  const objectOf = ({ properties = {}, required = [], additionalProperties }: Schema, path: string): GrammarRule => {
    const named = properties as Schema;
    const needed = required as readonly string[];
    const keys = [...new Set([...Object.keys(named), ...needed])];
    if (keys.length === 0)
      return additionalProperties === false
        ? mapOf(undefined)
        : mapOf(ruleOf(additionalProperties ?? true, `${path}.*`));
    // What may follow the last property that was written, from the end backwards.
    let first: GrammarRule = oneOf([]);
    let further: GrammarRule = oneOf([]);
    for (const key of keys.reverse()) {
      const value = Object.hasOwn(named, key) ? ruleOf(named[key], `${path}.${key}`) : anyValue;
      const entry = [written(key), space, literal(':'), space, value];
      const may = !needed.includes(key);
      [first, further] = [
        oneOf([...entry, further], ...(may ? [[first]] : [])),
        oneOf([space, literal(','), space, ...entry, further], ...(may ? [[further]] : [])),
      ];
    }
    return oneOf([literal('{'), space, first, space, literal('}')]);
  };

  return ruleOf(schema, 'schema');
}

function textOf(least: number, most?: number): GrammarRule {
  return oneOf([literal('"'), repeated(letter, least, most), literal('"')]);
}

const WIDEST = 10 ** 15;

/** A number within bounds. One that is not whole lies between two whole numbers that are within them. */
function numberOf(type: 'integer' | 'number', given: Schema, path: string): GrammarRule {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = given as Record<string, number | undefined>;
  if ([minimum, maximum, exclusiveMinimum, exclusiveMaximum].every((bound) => bound === undefined))
    return type === 'integer' ? integer : number;
  if (type === 'number' && (exclusiveMinimum ?? exclusiveMaximum) !== undefined)
    throw new SchemaUnsupported(`${path}: this server cannot hold a number that may be broken to an exclusive bound`);
  const low = Math.max(-WIDEST, Math.ceil(minimum ?? -WIDEST), Math.floor(exclusiveMinimum ?? -WIDEST - 1) + 1);
  const high = Math.min(WIDEST, Math.floor(maximum ?? WIDEST), Math.ceil(exclusiveMaximum ?? WIDEST + 1) - 1);
  if (!(low <= high)) throw new SchemaUnsupported(`${path}: there is no whole number within the bounds`);
  const whole = wholeBetween(low, high);
  if (type === 'integer') return whole;
  const zeros = oneOf([], [literal('.'), repeated(characterOf(/0/), 1, 16)]);
  const parts: GrammarPart[][] = [[whole, zeros]];
  if (high > 0 && high > low) parts.push([digitsBetween(Math.max(0, low), high - 1), fraction]);
  if (low < 0 && high > low) parts.push([literal('-'), digitsBetween(Math.max(0, -high), -low - 1), fraction]);
  return oneOf(...parts);
}

function wholeBetween(low: number, high: number): GrammarRule {
  const parts: GrammarPart[][] = [];
  if (high >= 0) parts.push([digitsBetween(Math.max(0, low), high)]);
  if (low < 0) parts.push([literal('-'), digitsBetween(Math.max(1, -high), -low)]);
  return oneOf(...parts);
}

/** The digits of whole numbers from 0 up, within bounds. */
function digitsBetween(low: number, high: number): GrammarRule {
  const lengths = Array.from({ length: String(high).length }, (_, i) => i + 1);
  const parts = lengths
    .map((length) => [Math.max(low, length === 1 ? 0 : 10 ** (length - 1)), Math.min(high, 10 ** length - 1)] as const)
    .filter(([from, to]) => from <= to)
    .map(([from, to]) => [sameLength(String(from), String(to))]);
  return oneOf(...parts);
}

/** Digits between two texts of the same length. */
function sameLength(from: string, to: string): GrammarRule {
  const { length } = from;
  if (/^0*$/.test(from) && /^9*$/.test(to)) return repeated(digit, length, length);
  const [first, last] = [from[0]!, to[0]!];
  if (first === last) return oneOf([literal(first), sameLength(from.slice(1), to.slice(1))]);
  const further = repeated(digit, length - 1, length - 1);
  return oneOf(
    [literal(first), sameLength(from.slice(1), '9'.repeat(length - 1))],
    [(character) => character > first && character < last, further],
    [literal(last), sameLength('0'.repeat(length - 1), to.slice(1))],
  );
}

/** A value as JSON writes it, its characters beyond ASCII as they are or escaped: not every tokenizer has tokens of whole ones. */
function written(value: unknown): GrammarRule {
  const parts = Array.from(JSON.stringify(value), (character) => {
    if (character <= '\x7f') return literal(character);
    const units = Array.from({ length: character.length }, (_, i) =>
      character.charCodeAt(i).toString(16).padStart(4, '0'),
    );
    return oneOf([literal(character)], [literal(units.map((unit) => `\\u${unit}`).join(''))]);
  });
  return oneOf(parts);
}

function listOf(item: GrammarPart, least: number, most?: number): GrammarRule {
  const [open, close] = [literal('['), literal(']')];
  const further = oneOf([space, literal(','), space, item]);
  const empty: GrammarPart[][] = least === 0 ? [[open, space, close]] : [];
  if (most === 0) return oneOf(...empty);
  const others = repeated(further, Math.max(0, least - 1), most === undefined ? undefined : most - 1);
  return oneOf(...empty, [open, space, item, others, space, close]);
}

/** An object with any names. @param value of each; without it there are none */
function mapOf(value: GrammarPart | undefined): GrammarRule {
  const [open, close] = [literal('{'), literal('}')];
  if (value === undefined) return oneOf([open, space, close]);
  const entry = oneOf([text, space, literal(':'), space, value]);
  const others = repeated(oneOf([space, literal(','), space, entry]), 0);
  return oneOf([open, space, close], [open, space, entry, others, space, close]);
}
