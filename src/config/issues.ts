// Turns the schema's issues with a configuration into one error of one line.
import { z } from 'zod';
import { GradusError } from '../errors.ts';
import { named, nearest } from '../nearest.ts';
import { foreignNames } from './foreign-names.ts';
import { configSchema } from './schema.ts';
import { dotted, type KeyPath, short, valueAt } from './values.ts';

type Issue = z.core.$ZodIssue;

export interface IssueContext {
  /** The value that the schema refused. */
  readonly value: unknown;
  /** Where a key was given: `grpo.yaml:12`, or the name of another source. */
  readonly placeOf: (path: KeyPath) => string;
}

/** The first issue as `CONFIG_UNKNOWN_KEY`, `CONFIG_MISSING` or `CONFIG_INVALID`. */
export function configError(issues: readonly Issue[], context: IssueContext): GradusError {
  const issue = closestIssue(issues[0]!);
  if (issue.code === 'unrecognized_keys') return unknownKey([...issue.path, issue.keys[0]!], context);
  const path = dotted(issue.path);
  const got = valueAt(context.value, issue.path);
  if (got === undefined && issue.path.length > 0) {
    return new GradusError('CONFIG_MISSING', `${context.placeOf([])}: ${path} is missing`, {
      hint: `add ${path}: VALUE`,
      path,
    });
  }
  const what = path === '' ? 'a configuration' : path;
  return new GradusError(
    'CONFIG_INVALID',
    `${context.placeOf(issue.path)}: ${what}: ${expectation(issue)}, got ${short(got)}`,
    {
      hint: path === '' ? 'write keys and values, for example model: PATH' : describe(issue.path),
      path,
    },
  );
}

/** Every key of the configuration, dotted. */
function configKeys(): string[] {
  const keys: string[] = [];
  const visit = (schema: JsonSchema, path: string[]) => {
    for (const [key, child] of Object.entries(propertiesOf(schema))) {
      keys.push([...path, key].join('.'));
      visit(child, [...path, key]);
    }
  };
  visit(jsonSchema(), []);
  return keys;
}

function unknownKey(path: KeyPath, { placeOf }: IssueContext): GradusError {
  const key = String(path.at(-1));
  const parent = path.slice(0, -1);
  const full = dotted(path);
  const siblings = Object.keys(propertiesOf(schemaAt(parent)));
  const ours =
    named(foreignNames, full) ?? (parent.length === 0 || parent[0] === 'stages' ? named(foreignNames, key) : undefined);
  const elsewhere = configKeys().filter((name) => name.split('.').at(-1) === key);
  const isOfTheRun = parent[0] === 'stages' && parent.length === 2 && key in propertiesOf(jsonSchema());
  const meant = ours ?? nearest(key, siblings) ?? elsewhere[0];
  const hint = isOfTheRun
    ? `${key} is the same in all stages: move it out of them`
    : ours !== undefined
      ? ours.includes(' ')
        ? ours
        : `here it is called ${ours}`
      : meant !== undefined
        ? `did you mean ${siblings.includes(meant) ? dotted([...parent, meant]) : meant}?`
        : `the keys ${parent.length > 0 ? `of ${dotted(parent)}` : 'here'} are ${siblings.join(', ')}`;
  return new GradusError('CONFIG_UNKNOWN_KEY', `${placeOf(path)}: unknown key ${full}`, { hint, path: full });
}

/** The issues of that branch of a union which the value matches best. */
function closestIssue(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const deepest = issue.errors
    .map((branch) => branch[0])
    .filter((inner) => inner !== undefined && (inner.path.length > 0 || inner.code === 'unrecognized_keys'))
    .at(-1);
  if (deepest === undefined) return issue;
  return closestIssue({ ...deepest, path: [...issue.path, ...deepest.path] } as Issue);
}

/** `expected a whole number`, `expected one of …`, `expected at least 2`. */
function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${typeNames[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `expected ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `expected ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_union':
      return [...new Set(issue.errors.map(([first]) => (first ? expectation(first) : '')))]
        .join(' or ')
        .replaceAll(' or expected', ' or');
    default:
      return issue.message;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'keys and values',
  record: 'keys and values',
};

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly description?: string;
  readonly default?: unknown;
}

let cachedSchema: JsonSchema | undefined;

function jsonSchema(): JsonSchema {
  cachedSchema ??= z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema;
  return cachedSchema;
}

function schemaAt(path: KeyPath): JsonSchema {
  return path.reduce<JsonSchema>(
    (schema, key) => (typeof key === 'number' ? itemsOf(schema) : (propertiesOf(schema)[String(key)] ?? {})),
    jsonSchema(),
  );
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return Object.assign({}, schema.properties, ...(schema.anyOf ?? []).map(propertiesOf));
}

function itemsOf(schema: JsonSchema): JsonSchema {
  return schema.items ?? schema.anyOf?.map(itemsOf).find((items) => items.properties ?? items.anyOf) ?? {};
}

/** The description of a key, and its default. */
function describe(path: KeyPath): string {
  const { description, default: preset } = schemaAt(path);
  const about = [description, preset !== undefined && `the default is ${JSON.stringify(preset)}`].filter(Boolean);
  return about.length > 0 ? `${dotted(path)}: ${about.join('; ')}` : `correct ${dotted(path)}`;
}
