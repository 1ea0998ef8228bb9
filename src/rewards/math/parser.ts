// Parses an answer in LaTeX or plain notation: numbers, expressions, sets, tuples, intervals, matrices, equations, inequalities, text.
import type { OperationName } from './operations.ts';
import { parseDecimal } from './rational.ts';
import { infinity, type MathNode, operation, type Relation, type RelationSign } from './syntax.ts';
import { functionNames, normalise, type Token, tokenize } from './tokens.ts';

// Answers are short. Longer or more deeply nested ones are not parsed, since they would only cost time.
const LONGEST_ANSWER = 1000;
const DEEPEST_NESTING = 60;

const relationSigns: ReadonlySet<string> = new Set<RelationSign>(['=', '<', '<=', '>', '>=', '!=']);
const closers: Readonly<Record<string, string>> = { '|': '|', '⌊': '⌋', '⌈': '⌉' };
const operationOfFence: Readonly<Record<string, OperationName>> = { '|': 'abs', '⌊': 'floor', '⌈': 'ceiling' };
const operationOfName: Readonly<Record<string, OperationName>> = {
  asin: 'arcsin',
  acos: 'arccos',
  atan: 'arctan',
  ceil: 'ceiling',
};

/** The syntax tree of the answer, a `word` if it is plain text; `undefined` if it is neither. */
export function parseAnswer(text: string): MathNode | undefined {
  if (text.length > LONGEST_ANSWER) return undefined;
  const tokens = tokenize(normalise(text));
  if (tokens.length === 0) return undefined;
  if (isText(tokens)) return { kind: 'word', text: tokens.map((token) => token.text).join(' ') };
  try {
    const parser = new Parser(tokens);
    return parser.parseAll();
  } catch (error) {
    if (error instanceof NotMathematics) return undefined;
    throw error;
  }
}

class NotMathematics extends Error {}

/** Whether there is a word, and otherwise only words, letters and marks that also occur in text. */
function isText(tokens: readonly Token[]): boolean {
  return (
    tokens.some(({ kind }) => kind === 'word' || kind === 'text') &&
    tokens.every(
      ({ kind, text }) => kind === 'word' || kind === 'text' || kind === 'name' || /^[-'’.,!?()&]$/.test(text),
    )
  );
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parseAll(): MathNode {
    const items = this.#parseItems();
    if (this.#at < this.#tokens.length) throw new NotMathematics();
    return items.length === 1 ? items[0]! : { kind: 'list', items };
  }

  /** Items between commas or semicolons. */
  #parseItems(): MathNode[] {
    const items = [this.#parseRelation()];
    while (this.#takeMark(',', ';')) items.push(this.#parseRelation());
    return items;
  }

  #parseRelation(): MathNode {
    const sides = [this.#parseUnion()];
    const signs: RelationSign[] = [];
    for (;;) {
      // `x ∈ S` means the answer S.
      if (this.#takeMark('∈')) return this.#parseUnion();
      const sign = this.#peek();
      if (sign?.kind !== 'mark' || !relationSigns.has(sign.text)) break;
      this.#at++;
      signs.push(sign.text as RelationSign);
      sides.push(this.#parseUnion());
    }
    return signs.length === 0 ? sides[0]! : ({ kind: 'relation', sides, signs } satisfies Relation);
  }

  #parseUnion(): MathNode {
    const parts = [this.#parseSum()];
    while (this.#takeMark('∪')) parts.push(this.#parseSum());
    return parts.length === 1 ? parts[0]! : { kind: 'union', parts };
  }

  #parseSum(): MathNode {
    let sum = this.#takeMark('±') ? eitherSign(this.#parseProduct()) : this.#parseProduct();
    for (;;) {
      if (this.#takeMark('+')) sum = operation('add', sum, this.#parseProduct());
      else if (this.#takeMark('-')) sum = operation('add', sum, operation('negate', this.#parseProduct()));
      else if (this.#takeMark('±')) sum = eitherSign(this.#parseProduct(), sum);
      else return sum;
    }
  }

  #parseProduct(): MathNode {
    let product = this.#parseUnary();
    for (;;) {
      if (this.#takeMark('*')) product = operation('multiply', product, this.#parseUnary());
      else if (this.#takeMark('/')) product = operation('divide', product, this.#parseUnary());
      else if (this.#startsFactor()) product = this.#parseImplicitFactor(product);
      else return product;
    }
  }

  /** `2x` is a product; `1\frac{1}{2}` and `1 1/2` are mixed numbers. */
  #parseImplicitFactor(before: MathNode): MathNode {
    const isWhole = before.kind === 'number' && !before.isDecimal;
    const next = this.#peek()!;
    if (isWhole && next.kind === 'number') {
      const part = this.#parsePower();
      if (part.kind !== 'number' || !this.#takeMark('/')) throw new NotMathematics();
      return operation('add', before, operation('divide', part, this.#parsePower()));
    }
    const isFraction = next.text === '\\frac';
    const factor = this.#parsePower();
    const isMixed =
      isWhole &&
      isFraction &&
      factor.kind === 'operation' &&
      factor.name === 'divide' &&
      factor.operands.every(({ kind }) => kind === 'number');
    return operation(isMixed ? 'add' : 'multiply', before, factor);
  }

  #parseUnary(): MathNode {
    return this.#nested(() => {
      if (this.#takeMark('-')) return operation('negate', this.#parseUnaryFactor());
      return this.#takeMark('+') ? this.#parseUnary() : this.#parsePower();
    });
  }

  /** Parses a factor with its sign. In −1\frac{1}{2} the minus applies to the whole mixed number. */
  #parseUnaryFactor(): MathNode {
    const factor = this.#parseUnary();
    const isMixed = factor.kind === 'number' && !factor.isDecimal && this.#peek()?.text === '\\frac';
    return isMixed ? this.#parseImplicitFactor(factor) : factor;
  }

  #parsePower(): MathNode {
    let base = this.#parsePrimary();
    for (;;) {
      if (this.#takeMark('^')) {
        if (this.#takeMark('°')) base = operation('degrees', base);
        else if (this.#peek()?.text === '{' && this.#peek(1)?.text === '°' && this.#peek(2)?.text === '}') {
          this.#at += 3;
          base = operation('degrees', base);
        } else base = operation('power', base, this.#parseExponent());
      } else if (this.#takeMark('!')) base = operation('factorial', base);
      else if (this.#takeMark('%')) base = operation('percent', base);
      else if (this.#takeMark('°')) base = operation('degrees', base);
      else if (this.#takeMark('_')) base = this.#parseSubscript(base);
      else return base;
    }
  }

  #parseExponent(): MathNode {
    return this.#nested(() => (this.#takeMark('-') ? operation('negate', this.#parsePower()) : this.#parsePrimary()));
  }

  /** A subscript makes a name a different name. On a number it is the base, which is ignored when digits are compared. */
  #parseSubscript(base: MathNode): MathNode {
    const start = this.#at;
    this.#parsePrimary();
    if (base.kind === 'number') return base;
    if (base.kind !== 'symbol') throw new NotMathematics();
    const index = this.#tokens.slice(start, this.#at).map(({ text }) => text);
    return { kind: 'symbol', name: `${base.name}_${index.filter((text) => !/[{}]/.test(text)).join('')}` };
  }

  #parsePrimary(): MathNode {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new NotMathematics();
    if (token.kind === 'number') return numberNode(token.text);
    if (token.kind === 'name') return this.#parseName(token.text);
    if (token.kind === 'text') return { kind: 'word', text: token.text };
    if (token.kind === 'word') throw new NotMathematics();
    return this.#nested(() => this.#parseMark(token.text));
  }

  #parseMark(mark: string): MathNode {
    switch (mark) {
      case '(':
      case '[':
        return this.#parseBrackets(mark);
      case '\\{':
        return this.#parseSet();
      case '∅':
        return { kind: 'set', items: [] };
      case '{':
        return this.#parseGroup();
      case '\\frac':
        return operation('divide', this.#parsePrimary(), this.#parsePrimary());
      case '\\binom':
        return operation('binomial', this.#parsePrimary(), this.#parsePrimary());
      case '\\begin':
        return this.#parseMatrix();
      case '|':
      case '⌊':
      case '⌈': {
        const inner = this.#parseSum();
        this.#expect(closers[mark]!);
        return operation(operationOfFence[mark]!, inner);
      }
      default:
        throw new NotMathematics();
    }
  }

  #parseBrackets(opener: string): MathNode {
    if (this.#takeMark(')')) return { kind: 'tuple', items: [] };
    const items = this.#parseItems();
    const closer = this.#takeMark(')', ']');
    if (!closer) throw new NotMathematics();
    const [start, end] = items;
    if (items.length === 1) return start!;
    const isPair = items.length === 2;
    const isRound = opener === '(' && closer === ')';
    if (isPair && !isRound) {
      return { kind: 'interval', start: start!, end: end!, isStartOpen: opener === '(', isEndOpen: closer === ')' };
    }
    return { kind: 'tuple', items };
  }

  #parseSet(): MathNode {
    if (this.#takeMark('\\}')) return { kind: 'set', items: [] };
    const items = this.#parseItems();
    this.#expect('\\}');
    return { kind: 'set', items };
  }

  /** Parses braces: in TeX they group, in plain text several items in braces make a set. */
  #parseGroup(): MathNode {
    if (this.#takeMark('}')) return { kind: 'set', items: [] };
    const items = this.#parseItems();
    this.#expect('}');
    return items.length === 1 ? items[0]! : { kind: 'set', items };
  }

  #parseMatrix(): MathNode {
    this.#skipEnvironmentName();
    const rows: MathNode[][] = [[]];
    for (;;) {
      rows.at(-1)!.push(this.#parseSum());
      if (this.#takeMark('&')) continue;
      if (this.#takeMark('\\\\')) {
        if (this.#peek()?.text === '\\end') break;
        rows.push([]);
      } else break;
    }
    this.#expect('\\end');
    this.#skipEnvironmentName();
    return { kind: 'matrix', items: rows.map((items) => ({ kind: 'tuple', items })) };
  }

  #skipEnvironmentName(): void {
    this.#expect('{');
    if (!/^[pbvBV]?matrix$/.test(this.#tokens[this.#at++]?.text ?? '')) throw new NotMathematics();
    this.#expect('}');
  }

  #parseName(name: string): MathNode {
    if (!functionNames.has(name)) return name === 'infinity' ? infinity : { kind: 'symbol', name };
    return this.#nested(() => this.#parseFunction(name));
  }

  #parseFunction(name: string): MathNode {
    if (name === 'sqrt') return this.#parseRoot();
    const base = name === 'log' && this.#takeMark('_') ? this.#parsePrimary() : undefined;
    const exponent = this.#takeMark('^') ? this.#parseExponent() : undefined;
    const operands = this.#parseOperands();
    const applied = apply(name, operands, base);
    return exponent ? operation('power', applied, exponent) : applied;
  }

  /** `\sqrt{2}`, `\sqrt[3]{2}`, `\sqrt2`, `sqrt(2)`. */
  #parseRoot(): MathNode {
    if (this.#takeMark('[')) {
      const degree = this.#parseSum();
      this.#expect(']');
      return operation('root', degree, this.#parsePrimary());
    }
    return operation('sqrt', this.#parsePrimary());
  }

  /** `\sin(x)`, `\max(1, 2)`, and `\sin 2x`, where the operand is the whole product. */
  #parseOperands(): readonly MathNode[] {
    if (this.#takeMark('(')) {
      const items = this.#parseItems();
      this.#expect(')');
      return items;
    }
    let operand = this.#parseUnary();
    while (this.#startsFactor() && !functionNames.has(this.#peek()!.text)) {
      operand = operation('multiply', operand, this.#parsePower());
    }
    return [operand];
  }

  #startsFactor(): boolean {
    const token = this.#peek();
    if (token === undefined) return false;
    if (token.kind !== 'mark') return token.kind === 'number' || token.kind === 'name';
    return /^(?:[({⌊⌈]|\\(?:frac|binom|begin))$/.test(token.text);
  }

  #peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  #takeMark(...marks: string[]): string | undefined {
    const token = this.#peek();
    if (token?.kind !== 'mark' || !marks.includes(token.text)) return undefined;
    this.#at++;
    return token.text;
  }

  #expect(mark: string): void {
    if (!this.#takeMark(mark)) throw new NotMathematics();
  }

  /** Parses what lies one level deeper. */
  #nested(parse: () => MathNode): MathNode {
    if (++this.#depth > DEEPEST_NESTING) throw new NotMathematics();
    const node = parse();
    this.#depth--;
    return node;
  }
}

/** ± operand, after a sum or alone. */
function eitherSign(operand: MathNode, sum?: MathNode): MathNode {
  const signed = [operand, operation('negate', operand)];
  return { kind: 'set', items: sum ? signed.map((term) => operation('add', sum, term)) : signed };
}

function numberNode(text: string): MathNode {
  const value = parseDecimal(text);
  if (value === undefined) throw new NotMathematics();
  return { kind: 'number', value, isDecimal: /[.eE]/.test(text) };
}

/** `log` without a base is the decimal logarithm, as usual in LaTeX answers. */
function apply(name: string, operands: readonly MathNode[], base: MathNode | undefined): MathNode {
  if (name === 'log' || name === 'lg') {
    if (operands.length !== 1) throw new NotMathematics();
    return operation('log', base ?? numberNode('10'), operands[0]!);
  }
  const isOfTwo = ['gcd', 'lcm', 'min', 'max'].includes(name);
  if (isOfTwo ? operands.length < 2 : operands.length !== 1) throw new NotMathematics();
  const operationName = operationOfName[name] ?? (name as OperationName);
  if (!isOfTwo) return operation(operationName, operands[0]!);
  return operands.slice(1).reduce((left, right) => operation(operationName, left, right), operands[0]!);
}
