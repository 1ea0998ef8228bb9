// A typed wrapper of @huggingface/jinja 0.5.11, with corrections where it renders otherwise than Python's Jinja.
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { type JinjaValue, pythonEquals, pythonText } from './python-text.ts';
import { stringMethods, strip } from './string-methods.ts';

/** A part of a parsed template. */
interface JinjaNode {
  readonly type: string;
}

interface Scope {
  setVariable(name: string, value: JinjaValue): void;
  /** Declares a variable with the value of one of JavaScript, and returns it. Functions get the values of their arguments. */
  set(name: string, value: unknown): JinjaValue;
}

/** The part of the library's interpreter that is used or replaced. Its own types do not resolve under `nodenext` and would all be `any`. */
interface LibraryInterpreter {
  evaluate(node: JinjaNode | undefined, scope: Scope): JinjaValue;
  evaluateBlock(nodes: readonly JinjaNode[], scope: Scope): JinjaValue;
  evaluateFor(node: For, scope: Scope): JinjaValue;
  evaluateBinaryExpression(node: Binary, scope: Scope): JinjaValue;
  evaluateMemberExpression(node: Member, scope: Scope): JinjaValue;
  evaluateArguments(nodes: readonly JinjaNode[], scope: Scope): [JinjaValue[], Map<string, JinjaValue>];
  applyFilter(operand: JinjaValue, node: Filter, scope: Scope): JinjaValue;
}

interface For extends JinjaNode {
  readonly loopvar: { readonly type: string; readonly value: unknown };
  readonly iterable: JinjaNode & { readonly lhs?: JinjaNode; readonly test?: JinjaNode };
  readonly body: readonly JinjaNode[];
  readonly defaultBlock: readonly JinjaNode[];
}

interface Binary extends JinjaNode {
  readonly operator: { readonly value: string };
  readonly left: JinjaNode;
  readonly right: JinjaNode;
}

interface Member extends JinjaNode {
  readonly object: JinjaNode;
  readonly property: JinjaNode & { readonly value?: unknown };
  readonly computed: boolean;
}

/** The name of a filter, or a call of it with arguments. */
interface Filter extends JinjaNode {
  readonly value?: string;
  readonly callee?: { readonly value: string };
  readonly args?: readonly JinjaNode[];
}

const NewScope: new (parent?: Scope) => Scope = Environment;
const Library: new (scope: Scope) => LibraryInterpreter = Interpreter;

/** Parses a template, with `trim_blocks` and `lstrip_blocks`. Returns a function that renders it with variables and functions. */
export function parseJinja(source: string): (variables: Readonly<Record<string, unknown>>) => string {
  const program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  return (variables) => {
    const scope = new NewScope();
    for (const [name, value] of Object.entries({ ...globals, ...variables })) scope.set(name, value);
    return new PythonInterpreter(scope).evaluate(program, scope).value as string;
  };
}

const globals = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  raise_exception(message: string) {
    throw new Error(message);
  },
};

type ValueClass = new (value: unknown) => JinjaValue;

/** The library's classes of values, which it does not export, by the type of what they hold. */
const valueClasses: ReadonlyMap<string, ValueClass> = new Map(
  ['', 0, true, undefined].map((given) => [typeof given, new NewScope().set('value', given).constructor as ValueClass]),
);
const ListValue = new NewScope().set('value', []).constructor as ValueClass;
const ObjectValue = new NewScope().set('value', {}).constructor as ValueClass;

/** The value for one of JavaScript. A number is an integer. */
function jinjaValue(given: unknown): JinjaValue {
  const Value = valueClasses.get(typeof given);
  return Value ? new Value(given) : new NewScope().set('value', given);
}

/** Statements that write nothing. */
const silent: ReadonlySet<string> = new Set(['Set', 'Macro', 'Comment']);

/** A `break` or `continue` on its way to its loop. */
class LoopControl extends Error {
  readonly ends: boolean;
  /** What the iteration has written before it. */
  written = '';

  constructor(ends: boolean) {
    super(`a ${ends ? 'break' : 'continue'} outside of a loop`);
    this.ends = ends;
  }
}

/**
 * - What an iteration has written before `continue` or `break` stays, and what it has set is forgotten in the next one.
 * - Loops over texts go over their characters, those over undefined values over nothing.
 * - Values are written and compared as Python does: `True`, `None`, `{'a': 1}`; lists and dictionaries by what they hold.
 * - Methods and filters of texts do what their arguments say.
 */
class PythonInterpreter extends Library {
  override evaluate(node: JinjaNode | undefined, scope: Scope): JinjaValue {
    if (node instanceof Evaluated) return node.value;
    if (node?.type === 'Break' || node?.type === 'Continue') throw new LoopControl(node.type === 'Break');
    return super.evaluate(node, scope);
  }

  override evaluateBlock(nodes: readonly JinjaNode[], scope: Scope): JinjaValue {
    let written = '';
    try {
      for (const node of nodes) {
        const value = this.evaluate(node, scope);
        if (!silent.has(node.type)) written += pythonText(value);
      }
    } catch (error) {
      if (error instanceof LoopControl) error.written = written + error.written;
      throw error;
    }
    return jinjaValue(written);
  }

  override evaluateFor({ loopvar, iterable, body, defaultBlock }: For, scope: Scope): JinjaValue {
    const { lhs, test } = iterable.type === 'SelectExpression' ? iterable : { lhs: iterable };
    const each = elementsOf(this.evaluate(lhs, scope)).map((item) => {
      const inner = new NewScope(scope);
      for (const [name, value] of assigned(loopvar, item)) inner.setVariable(name, value);
      return { item, inner };
    });
    const kept = test ? each.filter(({ inner }) => this.evaluate(test, inner).__bool__().value) : each;
    let written = '';
    let completed = 0;
    for (const [i, { inner }] of kept.entries()) {
      inner.setVariable('loop', loopValue(i, kept.length, kept[i - 1]?.item, kept[i + 1]?.item));
      try {
        written += this.evaluateBlock(body, inner).value;
        completed++;
      } catch (error) {
        if (!(error instanceof LoopControl)) throw error;
        written += error.written;
        if (error.ends) break;
      }
    }
    // In Jinja an iteration that `continue` cuts short does not count.
    if (completed === 0) written += this.evaluateBlock(defaultBlock, new NewScope(scope)).value;
    return jinjaValue(written);
  }

  override evaluateBinaryExpression(node: Binary, scope: Scope): JinjaValue {
    const { value: operator } = node.operator;
    if (operator === 'and' || operator === 'or') return super.evaluateBinaryExpression(node, scope);
    const left = this.evaluate(node.left, scope);
    const right = this.evaluate(node.right, scope);
    if (operator === '==' || operator === '!=') return jinjaValue(pythonEquals(left, right) === (operator === '=='));
    if (operator === '~') return jinjaValue(pythonText(left) + pythonText(right));
    if ((operator === 'in' || operator === 'not in') && !isText(right)) {
      const held = elementsOf(right).some((element) => pythonEquals(left, element));
      return jinjaValue(held === (operator === 'in'));
    }
    if (
      operator === '+' &&
      isText(left) !== isText(right) &&
      [left, right].some(({ value }) => typeof value === 'object')
    )
      throw new Error('only a text can be added to a text');
    return super.evaluateBinaryExpression({ ...node, left: new Evaluated(left), right: new Evaluated(right) }, scope);
  }

  override evaluateMemberExpression(node: Member, scope: Scope): JinjaValue {
    const method = node.computed ? undefined : stringMethods.get(node.property.value as string);
    if (!method) return super.evaluateMemberExpression(node, scope);
    const object = this.evaluate(node.object, scope);
    if (isText(object)) return jinjaValue((...given: unknown[]) => method(object.value as string, ...given.map(plain)));
    return super.evaluateMemberExpression({ ...node, object: new Evaluated(object) }, scope);
  }

  override applyFilter(operand: JinjaValue, node: Filter, scope: Scope): JinjaValue {
    const name = node.value ?? node.callee!.value;
    const rest = node.args ?? [];
    if (name === 'string') return jinjaValue(pythonText(operand));
    if (name === 'trim') {
      const [[characters]] = this.evaluateArguments(rest, scope);
      return jinjaValue(strip(pythonText(operand), characters?.value as string | undefined));
    }
    if (name === 'capitalize') return jinjaValue(stringMethods.get(name)!(pythonText(operand)));
    if (ofTexts.has(name)) return super.applyFilter(jinjaValue(pythonText(operand)), node, scope);
    if (name === 'length' && isText(operand)) return jinjaValue(elementsOf(operand).length);
    if (name === 'length' && operand.type === 'UndefinedValue') return jinjaValue(0);
    if (name === 'items' && operand.type === 'UndefinedValue') return new ListValue([]);
    if (name === 'default' && rest.length === 0) return operand.type === 'UndefinedValue' ? jinjaValue('') : operand;
    if (name === 'list') return new ListValue(elementsOf(operand));
    if (name === 'join' && !rest.some(({ type }) => type === 'KeywordArgumentExpression')) {
      const texts = new ListValue(elementsOf(operand).map((element) => jinjaValue(pythonText(element))));
      return super.applyFilter(texts, node, scope);
    }
    if ((name === 'first' || name === 'last') && isText(operand))
      return this.applyFilter(new ListValue(elementsOf(operand)), node, scope);
    if (name === 'map' && rest[0]?.type === 'StringLiteral') {
      const [[filter, ...given]] = this.evaluateArguments(rest, scope);
      const callee = { type: 'Identifier', value: filter!.value as string };
      const args = given.map((value) => new Evaluated(value));
      const each = args.length > 0 ? { type: 'CallExpression', callee, args } : callee;
      return new ListValue(elementsOf(operand).map((element) => this.applyFilter(element, each, scope)));
    }
    return super.applyFilter(operand, node, scope) ?? jinjaValue(undefined);
  }
}

/** Filters that make texts of what they are given. */
const ofTexts: ReadonlySet<string> = new Set(['upper', 'lower', 'title', 'replace']);

/** A part of a template that has been evaluated. */
class Evaluated implements JinjaNode {
  readonly type = 'Evaluated';
  readonly value: JinjaValue;

  constructor(value: JinjaValue) {
    this.value = value;
  }
}

function isText({ type }: JinjaValue): boolean {
  return type === 'StringValue';
}

/** What a template may ask of a loop, in one of its iterations. */
function loopValue(index: number, length: number, before?: JinjaValue, next?: JinjaValue): JinjaValue {
  const fields = new Map<string, JinjaValue>();
  fields.set('index', jinjaValue(index + 1)).set('index0', jinjaValue(index));
  fields.set('revindex', jinjaValue(length - index)).set('revindex0', jinjaValue(length - index - 1));
  fields.set('first', jinjaValue(index === 0)).set('last', jinjaValue(index === length - 1));
  fields.set('length', jinjaValue(length));
  fields.set('previtem', before ?? jinjaValue(undefined)).set('nextitem', next ?? jinjaValue(undefined));
  return new ObjectValue(fields);
}

/** What a loop over a value goes over. */
function elementsOf({ type, value }: JinjaValue): readonly JinjaValue[] {
  if (typeof value === 'string') return Array.from(value, jinjaValue);
  if (type === 'UndefinedValue') return [];
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return Array.from(value.keys(), jinjaValue);
  throw new Error(`Expected iterable or object type: got ${type}`);
}

/** The variables of a loop, and their values for one of its elements. */
function assigned({ type, value }: For['loopvar'], item: JinjaValue): [string, JinjaValue][] {
  if (type === 'Identifier') return [[value as string, item]];
  const names = value as readonly { readonly value: string }[];
  const items = elementsOf(item);
  if (names.length !== items.length)
    throw new Error(`Too ${names.length > items.length ? 'few' : 'many'} items to unpack`);
  return names.map((name, i) => [name.value, items[i]!]);
}

/** What a function is given for a value: a text, a number, or a list of them. */
function plain(given: unknown): unknown {
  return Array.isArray(given) ? given.map(({ value }: JinjaValue) => plain(value)) : given;
}
