// Checks values of programs and configurations against a schema, and says in one line what is wrong.
import { z } from 'zod';
import { GradusError, shortened } from '../errors.ts';
import { assertKnownNames, type UnknownNameCode } from './nearest.ts';

export type Issue = z.core.$ZodIssue;

/** The value as its schema reads it. Throws for the first key that the schema does not have, which zod might drop, and for the first issue. */
export function conforming<T>(
  schema: z.ZodType<T>,
  value: unknown,
  refusal: {
    readonly code: UnknownNameCode /** What is settled here, before the keys that there are. */;
    readonly about?: string;
  },
): T {
  const { code, about } = refusal;
  const { properties, additionalProperties = false } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const keys = Object.keys(properties ?? {});
  if (properties && additionalProperties === false && typeof value === 'object' && value !== null) {
    assertKnownNames(value, keys, { code });
  }
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const issue = closestIssue(result.error.issues[0]!);
  const path = issue.path.join('.');
  const isMissing = issue.input === undefined && path !== '';
  const fault = `${expectation(issue)}, got ${short(issue.input)}`;
  throw new GradusError(code, isMissing ? `${path} is missing` : `${path === '' ? '' : `${path}: `}${fault}`, {
    ...(about !== undefined && { hint: `${about}; its keys: ${keys.join(', ')}` }),
    ...(path !== '' && { path }),
  });
}

/** The issues of the branch of a union that the value matches best. */
export function closestIssue(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const inside = issue.errors.filter(
    ([first]) => first !== undefined && (first.path.length > 0 || first.code === 'unrecognized_keys'),
  );
  const fewest = Math.min(...inside.map(({ length }) => length));
  const deepest = inside.findLast(({ length }) => length === fewest)?.[0];
  if (deepest === undefined) return issue;
  return closestIssue({ ...deepest, path: [...issue.path, ...deepest.path] } as Issue);
}

/** `expected a whole number`, `expected one of …`, `expected at least 2`. */
export function expectation(issue: Issue): string {
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

/** A value for a message. */
export function short(value: unknown): string {
  // YAML has NaN and infinity, JSON does not.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? nameOf(value));
  return shortened(text, 60);
}

/** Names a value that JSON cannot write. */
function nameOf(value: unknown): string {
  return value === undefined ? 'nothing' : `a ${typeof value}`;
}
