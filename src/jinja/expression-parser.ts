// Parses the expressions of a template.
import type { Token } from './lexer.ts';
import type { Arguments, Expression, FilterCall } from './syntax.ts';
import { Float, integer, JinjaError } from './values.ts';

const endOfTokens: Token = { type: 'end', value: '' };
const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);
const none: Arguments = { positional: [], named: [], list: null, dict: null };
const specialNames: ReadonlySet<string> = new Set(['caller', 'kwargs', 'varargs']);

/** Python does not read longer whole numbers. */
const MOST_DIGITS = 4300;

export class ExpressionParser {
  readonly #tokens: readonly Token[];
  #place = 0;
  /** For each macro around the current expression, the special names that it reads. */
  readonly macros: Set<string>[] = [];

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return this.#tokens[this.#place] ?? endOfTokens;
  }

  get following(): Token {
    return this.#tokens[this.#place + 1] ?? endOfTokens;
  }

  next(): Token {
    const token = this.current;
    this.#place++;
    return token;
  }

  isName(name: string, token = this.current): boolean {
    return token.type === 'name' && token.value === name;
  }

  skips(type: string): boolean {
    if (this.current.type !== type) return false;
    this.#place++;
    return true;
  }

  skipsName(name: string): boolean {
    if (!this.isName(name)) return false;
    this.#place++;
    return true;
  }

  expect(type: string): string {
    if (this.current.type !== type) this.fail(`expected '${type}', got ${this.described()}`);
    return this.next().value;
  }

  described(): string {
    const { type, value } = this.current;
    return type === 'end' ? 'the end of the template' : `'${value || type.replace('_', ' ')}'`;
  }

  fail(message: string): never {
    throw new JinjaError(message);
  }

  /** An expression, or a tuple of several without parentheses. */
  tuple({ conditions = true, ends = [] as readonly string[], parentheses = false } = {}): Expression {
    const items: Expression[] = [];
    let isTuple = false;
    while (!this.#endsTuple(ends)) {
      items.push(conditions ? this.expression() : this.#or());
      if (!this.skips(',')) break;
      isTuple = true;
    }
    if (!isTuple && items.length > 0) return items[0]!;
    if (!isTuple && !parentheses) this.fail(`Expected an expression, got ${this.described()}`);
    return { type: 'tuple', items };
  }

  #endsTuple(ends: readonly string[]): boolean {
    return (
      ['variable_end', 'block_end', ')', 'end'].includes(this.current.type) || ends.some((name) => this.isName(name))
    );
  }

  expression(): Expression {
    let then = this.#or();
    while (this.skipsName('if')) {
      const test = this.#or();
      const otherwise = this.skipsName('else') ? this.expression() : null;
      then = { type: 'condition', test, then, otherwise };
    }
    return then;
  }

  #or(): Expression {
    let left = this.#and();
    while (this.skipsName('or')) left = { type: 'or', left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.skipsName('and')) left = { type: 'and', left, right: this.#not() };
    return left;
  }

  #not(): Expression {
    return this.skipsName('not') ? { type: 'not', value: this.#not() } : this.#comparison();
  }

  #comparison(): Expression {
    const first = this.#sum();
    const rest: [string, Expression][] = [];
    for (;;) {
      if (comparisons.has(this.current.type)) rest.push([this.next().type, this.#sum()]);
      else if (this.skipsName('in')) rest.push(['in', this.#sum()]);
      else if (this.isName('not') && this.isName('in', this.following)) {
        this.#place += 2;
        rest.push(['not in', this.#sum()]);
      } else return rest.length === 0 ? first : { type: 'compare', first, rest };
    }
  }

  #sum(): Expression {
    return this.#binary(['+', '-'], () => this.#concat());
  }

  #concat(): Expression {
    const items = [this.#product()];
    while (this.skips('~')) items.push(this.#product());
    return items.length === 1 ? items[0]! : { type: 'concat', items };
  }

  #product(): Expression {
    return this.#binary(['*', '/', '//', '%'], () => this.#binary(['**'], () => this.#unary()));
  }

  /** In Jinja all operators associate to the left, even `**`. */
  #binary(operators: readonly string[], operand: () => Expression): Expression {
    let left = operand();
    while (operators.includes(this.current.type))
      left = { type: 'binary', operator: this.next().type, left, right: operand() };
    return left;
  }

  #unary(filtered = true): Expression {
    let value: Expression;
    if (this.skips('-')) value = { type: 'negative', value: this.#unary(false) };
    else if (this.skips('+')) value = { type: 'positive', value: this.#unary(false) };
    else value = this.primary();
    value = this.#postfix(value);
    return filtered ? this.#filtered(value) : value;
  }

  primary(): Expression {
    const token = this.next();
    switch (token.type) {
      case 'name':
        return this.#named(token.value);
      case 'string': {
        let value = token.value;
        while (this.current.type === 'string') value += this.next().value;
        return { type: 'constant', value };
      }
      case 'integer':
        if (token.value.length > MOST_DIGITS) this.fail('a number has too many digits');
        return { type: 'constant', value: integer(BigInt(token.value.toLowerCase())) };
      case 'float':
        return { type: 'constant', value: new Float(Number(token.value)) };
      case '(': {
        const value = this.tuple({ parentheses: true });
        this.expect(')');
        return value;
      }
      case '[':
        return { type: 'list', items: this.#listed(']', () => this.expression()) };
      case '{':
        return { type: 'dict', items: this.#listed('}', () => this.#pair()) };
      default:
        this.#place--;
        return this.fail(`unexpected ${this.described()}`);
    }
  }

  #named(name: string): Expression {
    if (name === 'true' || name === 'True') return { type: 'constant', value: true };
    if (name === 'false' || name === 'False') return { type: 'constant', value: false };
    if (name === 'none' || name === 'None') return { type: 'constant', value: null };
    if (specialNames.has(name)) for (const read of this.macros) read.add(name);
    return { type: 'name', name };
  }

  #listed<T>(end: string, read: () => T): T[] {
    const items: T[] = [];
    while (this.current.type !== end) {
      if (items.length > 0) this.expect(',');
      if (this.current.type === end) break;
      items.push(read());
    }
    this.expect(end);
    return items;
  }

  #pair(): [Expression, Expression] {
    const key = this.expression();
    this.expect(':');
    return [key, this.expression()];
  }

  #postfix(given: Expression): Expression {
    let value = given;
    for (;;) {
      if (this.skips('.')) value = this.#attribute(value);
      else if (this.skips('[')) value = this.#subscript(value);
      else if (this.current.type === '(') value = { type: 'call', callee: value, given: this.#arguments() };
      else return value;
    }
  }

  #attribute(object: Expression): Expression {
    const { type, value } = this.next();
    if (type === 'name') return { type: 'attribute', object, name: value };
    if (type !== 'integer') this.fail('expected name or number');
    return { type: 'item', object, key: { type: 'constant', value: integer(BigInt(value)) } };
  }

  #subscript(object: Expression): Expression {
    const bounds: (Expression | null)[] = [];
    const keys: Expression[] = [];
    while (this.current.type !== ']') {
      if (keys.length > 0) this.expect(',');
      if (this.current.type !== ':') keys.push(this.expression());
      if (this.current.type !== ':') continue;
      bounds.push(keys.pop() ?? null);
      while (bounds.length < 3 && this.skips(':')) {
        bounds.push([']', ':', ','].includes(this.current.type) ? null : this.expression());
      }
      break;
    }
    this.expect(']');
    if (bounds.length > 0) {
      if (keys.length > 0) this.fail('a slice cannot be a part of a key');
      return { type: 'slice', object, bounds };
    }
    return { type: 'item', object, key: keys.length === 1 ? keys[0]! : { type: 'tuple', items: keys } };
  }

  #arguments(): Arguments {
    this.expect('(');
    const positional: Expression[] = [];
    const named: [string, Expression][] = [];
    let list: Expression | null = null;
    let dict: Expression | null = null;
    const ensure = (holds: boolean) => {
      if (!holds) this.fail('invalid syntax for function call expression');
    };
    for (let i = 0; this.current.type !== ')'; i++) {
      if (i > 0) this.expect(',');
      if (this.current.type === ')') break;
      if (this.skips('*')) {
        ensure(!list && !dict);
        list = this.expression();
      } else if (this.skips('**')) {
        ensure(!dict);
        dict = this.expression();
      } else if (this.current.type === 'name' && this.following.type === '=') {
        ensure(!dict);
        const { value } = this.next();
        this.next();
        named.push([value, this.expression()]);
      } else {
        ensure(!list && !dict && named.length === 0);
        positional.push(this.expression());
      }
    }
    this.expect(')');
    return { positional, named, list, dict };
  }

  #filtered(given: Expression): Expression {
    let value = given;
    for (;;) {
      if (this.current.type === '|') value = this.filters(value)!;
      else if (this.isName('is')) value = this.#test(value);
      else if (this.current.type === '(') value = { type: 'call', callee: value, given: this.#arguments() };
      else return value;
    }
  }

  /** @param inline whether the first filter comes without a bar */
  filters(given: Expression | null, inline = false): FilterCall | null {
    let value = given;
    let first = inline;
    while (first || this.skips('|')) {
      first = false;
      const name = this.#dottedName();
      value = { type: 'filter', value, name, given: this.current.type === '(' ? this.#arguments() : none };
    }
    return value as FilterCall | null;
  }

  #dottedName(): string {
    let name = this.expect('name');
    while (this.skips('.')) name += `.${this.expect('name')}`;
    return name;
  }

  #test(value: Expression): Expression {
    this.next();
    const isNegated = this.skipsName('not');
    const name = this.#dottedName();
    let given = none;
    if (this.current.type === '(') given = this.#arguments();
    else if (this.#beginsArgument()) {
      if (this.isName('is')) this.fail('You cannot chain multiple tests with is');
      given = { ...none, positional: [this.#postfix(this.primary())] };
    }
    const test: Expression = { type: 'test', value, name, given };
    return isNegated ? { type: 'not', value: test } : test;
  }

  #beginsArgument(): boolean {
    const begins = ['name', 'string', 'integer', 'float', '[', '{'].includes(this.current.type);
    return begins && !['else', 'or', 'and'].some((name) => this.isName(name));
  }
}
