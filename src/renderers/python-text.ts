// How Python writes and compares the values of a chat template.

/** A value while a template is rendered. */
export interface JinjaValue {
  /** Its name in the library, such as `StringValue`. */
  readonly type: string;
  readonly value: unknown;
  /** Its truth. */
  __bool__(): { readonly value: boolean };
  /** As the library writes it, which for floating-point numbers is as Python does. */
  toString(): string;
}

/** What `str` makes of a value. Nothing of one that is undefined, as in Jinja. */
export function pythonText(value: JinjaValue): string {
  return value.type === 'StringValue' ? (value.value as string) : representation(value);
}

/** What `repr` makes of a value. */
function representation(given: JinjaValue): string {
  const { type, value } = given;
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (type === 'NullValue') return 'None';
  if (type === 'UndefinedValue') return '';
  if (Array.isArray(value)) {
    const items = value.map(representation).join(', ');
    return type === 'TupleValue' ? `(${items}${value.length === 1 ? ',' : ''})` : `[${items}]`;
  }
  if (value instanceof Map) {
    const fields = Array.from(
      value as Map<string, JinjaValue>,
      ([key, each]) => `${quoted(key)}: ${representation(each)}`,
    );
    return `{${fields.join(', ')}}`;
  }
  return given.toString();
}

const short: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  // What cannot be printed, white space other than blanks included. Private characters stay: they mark numbers (python-numbers.ts).
  const escaped = text.replaceAll(/[\\'\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Z}]/gu, (character) => {
    if (character === ' ') return character;
    if (character === "'") return quote === "'" ? "\\'" : character;
    if (short[character]) return short[character];
    const code = character.codePointAt(0)!;
    const [letter, digits] = code < 2 ** 8 ? ['x', 2] : code < 2 ** 16 ? ['u', 4] : ['U', 8];
    return `\\${letter}${code.toString(16).padStart(digits as number, '0')}`;
  });
  return `${quote}${escaped}${quote}`;
}

/** Whether `==` holds: numbers and truth values by their numbers, lists and dictionaries by what they hold. */
export function pythonEquals(left: JinjaValue, right: JinjaValue): boolean {
  const [a, b] = [left.value, right.value];
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
  if (Array.isArray(a) && Array.isArray(b))
    return left.type === right.type && a.length === b.length && a.every((item, i) => pythonEquals(item, b[i]));
  if (a instanceof Map && b instanceof Map) {
    const isHeld = ([key, value]: [string, JinjaValue]) => b.has(key) && pythonEquals(value, b.get(key));
    return a.size === b.size && [...(a as Map<string, JinjaValue>)].every(isHeld);
  }
  return a === b;
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}
