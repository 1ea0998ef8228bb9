// The grammar of a call of a tool, as a family of models writes it, with arguments that conform to the tool's schema.
import { isObject } from '../../errors.ts';
import type { ToolSpec } from '../../message.ts';
import type { CallParts, Renderer, TextForm } from '../../rendering.ts';
import { type GrammarPart, type GrammarRule, literal, oneOf } from './grammar.ts';
import type { GrammarSize } from './grammar-size.ts';
import { SchemaUnsupported, schemaGrammar } from './json-grammar.ts';

type CallWriter = Pick<Renderer, 'renderCall' | 'callParts'>;
type Schema = Readonly<Record<string, unknown>>;

/** Throws `SchemaUnsupported` for a schema that calls cannot be held to. */
export function callGrammar(
  { name, parameters }: ToolSpec,
  { renderCall, callParts }: CallWriter,
  size: GrammarSize,
): GrammarRule {
  const parts = callParts?.(name);
  if (parts) return grammarOfParts(parts, parameters, size);
  const written = renderCall!({ name, arguments: {} });
  const place = written.lastIndexOf('{}');
  const given = schemaGrammar({ type: 'object', ...parameters }, size);
  return oneOf([literal(written.slice(0, place)), given, literal(written.slice(place + 2))]);
}

/** A text with all marks of calls, some of which may be special tokens. */
export function callMarks({ renderCall, callParts }: CallWriter): string {
  const parts = callParts?.('');
  return [
    renderCall?.({ name: '', arguments: {} }) ?? '',
    ...(parts ? [...parts.argument(''), parts.text.open, parts.text.close] : []),
  ].join(' ');
}

/** What a schema of all arguments may say where they are written one by one. */
const ofObjects =
  /^(type|properties|required|additionalProperties|\$defs|definitions|\$schema|title|description|strict)$/;

function grammarOfParts(parts: CallParts, schema: Schema, size: GrammarSize): GrammarRule {
  const { properties = {}, required = [], $defs, definitions } = schema;
  const unknown = Object.keys(schema).find((keyword) => !ofObjects.test(keyword));
  if (unknown !== undefined) throw unsupported('parameters', unknown);
  const given = isObject(properties) ? properties : {};
  const needed = Array.isArray(required) ? required : [];
  const missing = needed.find((key) => !Object.hasOwn(given, String(key)));
  if (missing !== undefined) throw new SchemaUnsupported(`parameters.required: ${missing} is no property`);
  const entries = Object.entries(given).map(([key, property]) => {
    if (!/^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(key))
      throw new SchemaUnsupported(`parameters.properties: this model cannot write the name ${JSON.stringify(key)}`);
    const [before, after] = parts.argument(key);
    const value = valueGrammar(key, isObject(property) ? property : {}, parts.text, { $defs, definitions }, size);
    return { isNeeded: needed.includes(key), parts: [literal(before), value, literal(after)] };
  });
  const rest = (index: number, isFirst: boolean): GrammarRule => {
    const entry = entries[index];
    if (!entry) return oneOf([]);
    const with_ = [...(isFirst ? [] : [literal(parts.between)]), ...entry.parts, rest(index + 1, false)];
    return entry.isNeeded ? oneOf(with_) : oneOf(with_, [rest(index + 1, isFirst)]);
  };
  return oneOf([literal(parts.before), rest(0, true), literal(parts.after)]);
}

function valueGrammar(key: string, schema: Schema, form: TextForm, shared: Schema, size: GrammarSize): GrammarRule {
  const types = typesOf(schema);
  const path = `parameters.properties.${key}`;
  if (
    types === undefined &&
    Object.keys(schema).some((keyword) => !/^(title|description|default|examples)$/.test(keyword))
  )
    throw new SchemaUnsupported(`${path}: this model writes texts unlike other values, and the schema names no types`);
  if (types === undefined || types.has('string')) return textsGrammar(path, schema, types, form, size);
  if (form.isEverywhere && mayHoldTexts(schema))
    throw new SchemaUnsupported(
      `${path}: this server cannot hold this model's calls to texts within lists and objects`,
    );
  if (form.isFlat && (types.has('array') || types.has('object')))
    throw new SchemaUnsupported(`${path}: this server cannot hold this model's calls to lists and objects`);
  if (!form.otherwise) return schemaGrammar({ ...shared, ...schema }, size);
  const marked = Map.groupBy(types, (type) => form.otherwise!(type));
  const alternatives = [...marked].map(([mark, ofMark]) => {
    const own = marked.size > 1 ? { ...schema, type: ofMark } : schema;
    return [literal(mark), schemaGrammar({ ...shared, ...own }, size)];
  });
  return oneOf(...alternatives);
}

/** Whether a list or object may have texts within; true if the schema does not say. */
function mayHoldTexts(schema: Schema): boolean {
  const types = typesOf(schema);
  if (types === undefined || types.has('object') || types.has('string')) return true;
  return types.has('array') && !(isObject(schema.items) && !mayHoldTexts(schema.items));
}

/** Keywords that say nothing of a text beyond its type, or are known here. */
const ofTexts = /^(type|enum|const|title|description|default|examples)$/;

function textsGrammar(
  path: string,
  schema: Schema,
  types: ReadonlySet<string> | undefined,
  form: TextForm,
  size: GrammarSize,
): GrammarRule {
  const unknown = Object.keys(schema).find((keyword) => !ofTexts.test(keyword));
  if (unknown !== undefined) throw unsupported(path, unknown);
  const others = [...(types ?? [])].filter((type) => type !== 'string' && type !== 'null');
  if (others.length > 0)
    throw new SchemaUnsupported(
      `${path}: this model writes texts unlike other values: it may be a text or ${others[0]}, not both`,
    );
  const values = 'const' in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : undefined;
  const nothing = types?.has('null') ? [[literal(`${form.otherwise?.('null') ?? ''}null`)]] : [];
  if (!values) return oneOf([literal(form.open), textWithout(form), literal(form.close)], ...nothing);
  const listed = values
    .filter((value) => value !== null)
    .map((value) => {
      const text = String(value);
      if (form.without.some((mark) => text.includes(mark)) || (form.escapes && text.includes('\\')))
        throw new SchemaUnsupported(`${path}.enum: this model cannot write ${JSON.stringify(text)} in a call`);
      size(text.length);
      return [literal(form.open + text + form.close)];
    });
  return oneOf(...listed, ...(values.includes(null) ? nothing : []));
}

/** Any text without the marks of its end. */
function textWithout({ without, escapes }: TextForm): GrammarRule {
  const rules = new Map<string, GrammarRule>();
  /** @param seen the end of the text so far that may become a mark */
  const behind = (seen: string): GrammarRule => {
    const known = rules.get(seen);
    if (known) return known;
    const rule: GrammarRule = oneOf([]);
    rules.set(seen, rule);
    rule.alternatives.push([
      (character) => {
        if (escapes && character === '\\') return escaped;
        const text = seen + character;
        if (without.some((mark) => text.endsWith(mark))) return false;
        for (let start = 0; start < text.length; start++)
          if (without.some((mark) => mark.startsWith(text.slice(start)))) return behind(text.slice(start));
        return behind('');
      },
    ]);
    return rule;
  };
  const start = behind('');
  const escaped: GrammarRule = oneOf([
    (character) => (escapes?.includes(character) ? start : false),
  ] satisfies GrammarPart[]);
  return start;
}

/** The types that a schema names; undefined if it names none. */
function typesOf({ type, enum: values, ...others }: Schema): ReadonlySet<string> | undefined {
  if (type !== undefined) return new Set([type].flat().map(String));
  if ('const' in others) return new Set([typeOf(others.const)]);
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  const choices = others.anyOf ?? others.oneOf;
  if (!Array.isArray(choices)) return undefined;
  const types = choices.map((choice) => (isObject(choice) ? typesOf(choice) : undefined));
  return types.includes(undefined) ? undefined : new Set(types.flatMap((each) => [...each!]));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function unsupported(path: string, keyword: string): SchemaUnsupported {
  return new SchemaUnsupported(`${path}.${keyword}: this server cannot hold the calls of this model to it`);
}
